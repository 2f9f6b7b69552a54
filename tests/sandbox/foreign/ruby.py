"""Modules in text form for what a Ruby from npm imports beside WASI, as its JavaScript would give it: ruby.py RUBY FOLDER. Values that are
handed out are handed back as they are; and there is no JavaScript here, so its functions are not to be called."""
import sys
from wasmtime import Engine, FuncType, Module

module, folder = Module.from_file(Engine(), sys.argv[1]), sys.argv[2]
made = {}
for wanted in module.imports:
    if wanted.module == "wasi_snapshot_preview1":
        continue
    assert isinstance(wanted.type, FuncType)
    given = " ".join(f"(param {one})" for one in wanted.type.params)
    gives = " ".join(f"(result {one})" for one in wanted.type.results)
    same = wanted.module == "canonical_abi" and len(wanted.type.results) == 1
    body = "(local.get 0)" if same else "unreachable"
    made.setdefault(wanted.module, []).append(f'(func (export "{wanted.name}") {given} {gives} {body})')
for name, functions in made.items():
    with open(f"{folder}/{name}.wat", "w") as text:
        text.write("(module\n" + "\n".join(functions) + ")\n")
    print(name)
