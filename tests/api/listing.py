"""What an embedder can name through one crate, a line each, from rustdoc's JSON of it and of the crates that it gives on from.

    listing.py CRATE FOLDER

A line that is gone or another one breaks whoever used it; a new one breaks nobody, but for an item of a trait that others implement. Fails if
something is taken or given that can't be named through the crate.
"""

import json
import sys
from pathlib import Path

# Derived, or of the language: an implementation of one of these says nothing by its methods.
QUIET = {"StructuralPartialEq", "Freeze", "RefUnwindSafe", "UnwindSafe", "Unpin", "UnsafeUnpin"}


class Crates:
    def __init__(self, folder):
        self.crates = {}
        self.places = {}
        for file in sorted(Path(folder).glob("hutch*.json")):
            crate = json.loads(file.read_text())
            name = crate["index"][str(crate["root"])]["name"]
            self.crates[name] = crate
            for at, path in crate["paths"].items():
                if path["crate_id"] == 0:
                    self.places.setdefault(tuple(path["path"]), (name, at))

    def item(self, crate, at):
        """An item, wherever it is defined, with the crate that knows it; nothing if that is none of ours."""
        found = self.crates[crate]["index"].get(str(at))
        if found is not None and found["crate_id"] == 0:
            return crate, found
        path = self.crates[crate]["paths"].get(str(at))
        place = self.places.get(tuple(path["path"])) if path else None
        return (place[0], self.crates[place[0]]["index"][place[1]]) if place else (crate, None)


#: Identifiers of what the signatures that were written name, in the JSON of the crate that is being written.
NAMED = set()


def words(bounds):
    return " + ".join(filter(None, map(bound, bounds)))


def bound(of):
    if "trait_bound" in of:
        maybe = {"none": "", "maybe": "?", "maybe_const": "~const "}[of["trait_bound"]["modifier"]]
        return maybe + named(of["trait_bound"]["trait"])
    return of.get("outlives", "")


def named(path):
    NAMED.add(path["id"])
    return path["path"].split("::")[-1] + arguments(path.get("args"))


def arguments(args):
    if not args:
        return ""
    if "parenthesized" in args:
        inside = args["parenthesized"]
        return "({}){}".format(", ".join(map(kind, inside["inputs"])), result(inside["output"]))
    inside = args["angle_bracketed"]
    parts = [argument(one) for one in inside["args"]]
    for one in inside["constraints"]:
        of = one["binding"]
        told = " = " + kind(of["equality"]["type"]) if "equality" in of and "type" in of["equality"] else ": " + words(of.get("constraint", []))
        parts.append(one["name"] + told)
    return "<{}>".format(", ".join(parts)) if parts else ""


def argument(one):
    if one == "infer":
        return "_"
    return one.get("lifetime") or (kind(one["type"]) if "type" in one else str(one.get("const", {}).get("expr")))


def result(output):
    return " -> " + kind(output) if output else ""


def kind(of):
    """A type as it is written, by last names: where they are from, the listing's other lines say."""
    (name, inside), = of.items()
    if name == "resolved_path":
        return named(inside)
    if name in ("generic", "primitive"):
        return inside
    if name == "tuple":
        return "({})".format(", ".join(map(kind, inside)))
    if name == "slice":
        return "[{}]".format(kind(inside))
    if name == "array":
        return "[{}; {}]".format(kind(inside["type"]), inside["len"])
    if name == "impl_trait":
        return "impl " + words(inside)
    if name == "dyn_trait":
        life = [inside["lifetime"]] if inside["lifetime"] else []
        return "dyn " + " + ".join([named(one["trait"]) for one in inside["traits"]] + life)
    if name == "borrowed_ref":
        life = inside["lifetime"] + " " if inside["lifetime"] else ""
        return "&{}{}{}".format(life, "mut " if inside["is_mutable"] else "", kind(inside["type"]))
    if name == "raw_pointer":
        return "*{} {}".format("mut" if inside["is_mutable"] else "const", kind(inside["type"]))
    if name == "function_pointer":
        return "fn" + signature(inside["sig"])
    if name == "qualified_path":
        of = kind(inside["self_type"])
        return "<{} as {}>::{}".format(of, named(inside["trait"]), inside["name"]) if inside["trait"] else of + "::" + inside["name"]
    return name


def signature(sig):
    given = [kind(of) if name in ("self", "_", "") else "{}: {}".format(name, kind(of)) for name, of in sig["inputs"]]
    # How it is called is the caller's; what it is, is not.
    given = [one.split(": ", 1)[-1] for one in given]
    return "({}){}".format(", ".join(given), result(sig["output"]))


def generics(of):
    def parameter(one):
        how = one["kind"].get("type")
        if how is None:
            return one["name"] if "lifetime" in one["kind"] else "const " + one["name"]
        return None if how["is_synthetic"] else one["name"] + (": " + words(how["bounds"]) if how["bounds"] else "")

    parts = list(filter(None, map(parameter, of["params"])))
    where = [
        "{}: {}".format(kind(one["bound_predicate"]["type"]), words(one["bound_predicate"]["bounds"]))
        for one in of["where_predicates"]
        if "bound_predicate" in one
    ]
    return ("<{}>".format(", ".join(parts)) if parts else ""), (" where " + ", ".join(where) if where else "")


def marks(item):
    told = [one if isinstance(one, str) else next(iter(one)) for one in item["attrs"]]
    return "".join(" #[{}]".format(name) for name in ("non_exhaustive", "must_use") if any(name in one for one in told))


class Listing:
    def __init__(self, crates, names=None):
        self.crates = crates
        #: All names of each item, of a walk before this one: the shortest is told about, the others are told to be the same.
        self.names = {}
        self.shortest = {at: min(all, key=lambda name: (name.count("::"), name)) for at, all in names.items()} if names else {}
        self.lines = set()
        self.seen = set()
        #: What there is a name for, and what is named in signatures: by the crate that defines it.
        self.known = set()
        self.wanted = {}

    def say(self, line, crate=None):
        self.lines.add(" ".join(line.split()))
        for at in NAMED if crate else ():
            owner, item = self.crates.item(crate, at)
            if item is not None:
                self.wanted.setdefault((owner, item["id"]), (item["name"], line))
        NAMED.clear()

    def walk(self, crate, at, path):
        crate, item = self.crates.item(crate, at)
        if item is None:
            return
        name = item["name"]
        (what, inside), = item["inner"].items()
        if what == "use":
            if inside["id"] is None:
                return
            if inside["is_glob"]:
                _, glob = self.crates.item(crate, inside["id"])
                for one in next(iter(glob["inner"].values())).get("items", []) if glob else []:
                    self.walk(crate, one, path)
                return
            target, found = self.crates.item(crate, inside["id"])
            if found is None:
                # Another's: by its name alone.
                return self.say("use {}::{} = {}".format(path, inside["name"], inside["source"]))
            return self.as_named(target, found, path, inside["name"])
        self.as_named(crate, item, path, name)

    def as_named(self, crate, item, path, name):
        whole = "{}::{}".format(path, name) if path else name
        key = (whole, next(iter(item["inner"])))
        if key in self.seen:
            return
        self.seen.add(key)
        self.known.add((crate, item["id"]))
        self.names.setdefault((crate, item["id"]), set()).add(whole)
        (what, inside), = item["inner"].items()
        shortest = self.shortest.get((crate, item["id"]), whole)
        if what != "module" and whole != shortest:
            return self.say("use {} = {}".format(whole, shortest))
        inner = lambda at: self.crates.item(crate, at)[1]
        if what == "module":
            self.say("mod " + whole, crate)
            for one in inside["items"]:
                self.walk(crate, one, whole)
        elif what == "function":
            own, where = generics(inside["generics"])
            const = "const " if inside["header"].get("is_const") else ""
            self.say("{}fn {}{}{}{}{}".format(const, whole, own, signature(inside["sig"]), where, marks(item)), crate)
        elif what in ("struct", "enum", "union"):
            own, where = generics(inside["generics"])
            self.say("{} {}{}{}{}".format(what, whole, own, where, marks(item)), crate)
            if what == "enum":
                for at in inside["variants"]:
                    self.variant(crate, inner, inner(at), whole)
            elif what == "struct":
                self.fields(crate, inner, inside["kind"], whole)
            for at in inside["impls"]:
                self.implementation(crate, self.crates.crates[crate]["index"].get(str(at)), whole)
        elif what == "trait":
            own, where = generics(inside["generics"])
            self.say("trait {}{}{}{}".format(whole, own, ": " + words(inside["bounds"]) if inside["bounds"] else "", where), crate)
            for at in inside["items"]:
                one = inner(at)
                needed = "" if one["inner"].get("function", {}).get("has_body", True) else " (required)"
                self.member(crate, one, whole, needed)
        elif what == "type_alias":
            self.say("type {}{} = {}".format(whole, generics(inside["generics"])[0], kind(inside["type"])), crate)
        elif what in ("constant", "static"):
            self.say("{} {}: {}".format(what, whole, kind(inside["type"])), crate)
        else:
            self.say("{} {}".format(what, whole), crate)

    def fields(self, crate, inner, of, whole):
        if of == "unit":
            return
        if "tuple" in of:
            told = [kind(inner(at)["inner"]["struct_field"]) if at is not None else "_" for at in of["tuple"]]
            return self.say("field {}({})".format(whole, ", ".join(told)), crate)
        for at in of["plain"]["fields"]:
            field = inner(at)
            self.say("field {}.{}: {}".format(whole, field["name"], kind(field["inner"]["struct_field"])), crate)
        if of["plain"]["has_stripped_fields"]:
            self.say("field {}.. (private)".format(whole), crate)

    def variant(self, crate, inner, item, whole):
        of = item["inner"]["variant"]["kind"]
        told = ""
        if of != "plain":
            (how, inside), = of.items()
            if how == "tuple":
                told = "({})".format(", ".join(kind(inner(at)["inner"]["struct_field"]) for at in inside if at is not None))
            else:
                fields = [inner(at) for at in inside["fields"]]
                told = " {{ {} }}".format(", ".join("{}: {}".format(one["name"], kind(one["inner"]["struct_field"])) for one in fields))
        self.say("variant {}::{}{}{}".format(whole, item["name"], told, marks(item)), crate)

    def member(self, crate, item, whole, more=""):
        (what, inside), = item["inner"].items()
        name = "{}::{}".format(whole, item["name"])
        if what == "function":
            own, where = generics(inside["generics"])
            const = "const " if inside["header"].get("is_const") else ""
            self.say("{}fn {}{}{}{}{}{}".format(const, name, own, signature(inside["sig"]), where, marks(item), more), crate)
        elif what == "assoc_const":
            self.say("const {}: {}".format(name, kind(inside["type"])), crate)
        elif what == "assoc_type":
            self.say("type {}{}".format(name, " = " + kind(inside["type"]) if inside["type"] else ""), crate)

    def implementation(self, crate, item, whole):
        inside = item["inner"]["impl"] if item else None
        if inside is None or inside["blanket_impl"]:
            return
        if inside["trait"] is None:
            for at in inside["items"]:
                one = self.crates.item(crate, at)[1]
                if one is not None and one["visibility"] == "public":
                    self.member(crate, one, whole)
        elif named(inside["trait"]) not in QUIET:
            negative = "!" if inside["is_negative"] else ""
            self.say("impl {}{} for {}".format(negative, named(inside["trait"]), whole), crate)


def main():
    crate, folder = sys.argv[1:]
    crates = Crates(folder)
    root = crates.crates[crate]["root"]
    first = Listing(crates)
    first.walk(crate, root, "")
    listing = Listing(crates, first.names)
    listing.walk(crate, root, "")
    if len(listing.lines) < 200:
        sys.exit("only {} lines: the form of the JSON is another".format(len(listing.lines)))
    missing = sorted(told for at, told in listing.wanted.items() if at not in listing.known)
    if missing:
        told = "\n".join("{}: in {}".format(name, line) for name, line in missing)
        sys.exit("{} has no name for what it takes or gives:\n{}".format(crate, told))
    print("\n".join(sorted(listing.lines)))


main()
