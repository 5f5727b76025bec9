# SPDX-License-Identifier: Apache-2.0
"""Reading values by the names that the debug information has."""

import gdb


LIST_MAX = 100000  # a longer list is a broken one


class Trouble(gdb.GdbError):
    """Something that the user must know: no runtime, no debug information, no such task."""


def number(value):
    """The integer inside of a value, also if it is wrapped in a struct (an atomic)."""
    kind = value.type.strip_typedefs()
    while kind.code == gdb.TYPE_CODE_STRUCT:
        value = value[kind.fields()[0]]
        kind = value.type.strip_typedefs()
    return int(value)


_names = {}


def names_of(enum_name):
    """The names of an enum, by their numbers."""
    if enum_name not in _names:
        fields = gdb.lookup_type(enum_name).fields()
        _names[enum_name] = {field.enumval: field.name for field in fields}
    return _names[enum_name]


def forget_names():
    """Another program, or another library."""
    _names.clear()


def has_field(value, name):
    return type_has_field(value.type, name)


def type_has_field(kind, name):
    """Itself, or in a part of it that has no name."""
    return any(
        field.name == name or (not field.name and type_has_field(field.type, name))
        for field in kind.strip_typedefs().fields()
    )


def container(link, type_name, *path):
    """The struct that `link`, a pointer, lies in, at the field that the path leads to."""
    kind = gdb.lookup_type(type_name)
    offset, inner = 0, kind
    for name in path:
        field = next(f for f in inner.strip_typedefs().fields() if f.name == name)
        offset += field.bitpos // 8
        inner = field.type
    address = int(link) - offset
    return gdb.Value(address).cast(kind.pointer()).dereference()


def items_of(rti_list, type_name, *path):
    """The elements of a struct rti_list."""
    head = rti_list["head"].address
    link = rti_list["head"]["next"]
    for _ in range(LIST_MAX):
        if int(link) in (0, int(head)):
            return
        yield container(link, type_name, *path)
        link = link["next"]


def text_of(array):
    return array.string(errors="replace") if int(array[0]) != 0 else ""


def duration(nanoseconds):
    for limit, unit, size in ((10**3, "ns", 1), (10**6, "us", 10**3), (10**9, "ms", 10**6)):
        if nanoseconds < limit:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds / 10**9:.1f} s"


def function_at(address):
    """The name of the function at an address; the number if there is none."""
    block = None
    try:
        block = gdb.block_for_pc(address)
    except (RuntimeError, gdb.error):
        pass
    while block is not None and block.function is None:
        block = block.superblock
    if block is not None:
        return block.function.name
    text = gdb.execute(f"info symbol {address:#x}", to_string=True).split()
    return text[0] if text and text[0] != "No" else f"{address:#x}"


def place_of(address):
    """`function (file:line)` of a call: the address behind it."""
    sal = gdb.find_pc_line(address - 1)
    name = function_at(address - 1)
    if sal.symtab is None:
        return name
    return f"{name} ({sal.symtab.filename.rsplit('/', 1)[-1]}:{sal.line})"
