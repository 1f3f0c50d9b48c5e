"""A generated section of a file, between "<!-- NAME -->" and "<!-- end -->"."""
import pathlib


END = "<!-- end -->\n"


def begin_of(name):
    return f"<!-- {name} -->\n"


def section_of(path, name):
    """The text of the section, or None."""
    path = pathlib.Path(path)
    _, begin, rest = (path.read_text() if path.exists() else "").partition(begin_of(name))
    text, end, _ = rest.partition(END)
    return text if begin and end else None


def write_section(path, name, text, heading=None):
    """Replaces the section; a file without one gets `heading` and the section at its end."""
    path = pathlib.Path(path)
    begin, end = begin_of(name), END
    before = path.read_text() if path.exists() else ""
    if begin in before and end in before.split(begin, 1)[1]:
        head, rest = before.split(begin, 1)
        text = head + begin + text + end + rest.split(end, 1)[1]
    elif heading is None:
        raise SystemExit(f"{path} has no line {begin.strip()} followed by {end.strip()}")
    else:
        text = before + ("\n" if before else "") + heading + begin + text + end
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    temporary.replace(path)
