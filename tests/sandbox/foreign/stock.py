"""Runs a component or a core module of WASI 0.1 in the stock engine, with a folder as its `/`: stock.py FOLDER FILE ARGUMENT…"""
import sys
from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, WasiConfig, component

folder, file, *arguments = sys.argv[1:]
config = Config()
config.wasm_exceptions = True
engine = Engine(config)
store, wasi = Store(engine), WasiConfig()
wasi.argv = ["app", *arguments]
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir(folder, "/")
store.set_wasi(wasi)
with open(file, "rb") as opened:
    code = opened.read()
try:
    if code[4:8] == b"\x0d\0\1\0":
        linker = component.Linker(engine)
        linker.add_wasip2()
        made = component.Component(engine, code)
        instance = linker.instantiate(store, made)
        run = next(name for name in made.type.exports(engine) if name.startswith("wasi:cli/run"))
        interface = instance.get_export_index(store, run)
        ended = instance.get_func(store, instance.get_export_index(store, "run", interface))(store)
        sys.exit(0 if ended.tag == "ok" else 1)
    else:
        linker = Linker(engine)
        linker.define_wasi()
        linker.instantiate(store, Module(engine, code)).exports(store)["_start"](store)
except ExitTrap as exit:
    sys.exit(exit.code)
