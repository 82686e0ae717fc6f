#!/usr/bin/env python3
"""Expressions with the values that Python itself gives them, and texts that Python itself refuses.

Writes python_expressions.txt beside this file. Each line is an answer, a tab and a text; the answer is
  syntax   where Python does not parse the text,
  type     where it does, and an operand of and, or, not or a condition is an integer,
  V V V    the values at the three POINTS, True and False where the expression is a boolean.
Left out is what the language and Python mean differently (~ on booleans), and what fails or leaves 64 bits anywhere.

usage: make_python_expressions.py
"""
import ast, itertools, pathlib, random

POINTS = [dict(b=1, h=2, q=5, kv=3), dict(b=0, h=1, q=2, kv=7), dict(b=2, h=0, q=9, kv=9)]
NAMES = dict(q_len=10, kv_len=12, w=4, abs=abs, min=min, max=max, clamp=lambda x, lo, hi: min(max(x, lo), hi),
             where=lambda c, x, y: x if c else y, doc=[0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4])
BINARY = "or and < <= > >= == != | ^ & << >> + - * // %".split()
ATOMS = "q kv q kv b h w q_len kv_len True False 0 1 2 3 7 0x1f 0b11 0o17 1_0".split()
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
random = random.Random(12)


def atom(depth):
    kind = random.random()
    if depth > 2 or kind < 0.8:
        return [random.choice(ATOMS)]
    if kind < 0.94:
        return ["(", *expression(depth + 1), ")"]
    if kind < 0.96:
        return ["doc", "[", *expression(depth + 1), "]"]
    name, count = random.choice([("abs", 1), ("min", 2), ("max", 3), ("clamp", 3), ("where", 3)])
    arguments = [expression(depth + 1) for _ in range(count)]
    return [name, "(", *itertools.chain.from_iterable([*a, ","] for a in arguments[:-1]), *arguments[-1], ")"]


def expression(depth=0):
    tokens = []
    for i in range(random.randint(1, 5 if depth == 0 else 2)):
        if i:
            tokens.append(random.choice(BINARY))
        while random.random() < 0.15:
            tokens.append(random.choice(["-", "+", "~", "not"]))
        tokens += atom(depth)
    if random.random() < 0.12:
        tokens += ["if", *expression(depth + 1), "else", *expression(depth + 1)]
    return tokens


def altered(tokens):
    tokens, i = list(tokens), random.randrange(len(tokens))
    choice = random.random()
    if choice < 0.4:
        del tokens[i]
    elif choice < 0.8:
        tokens.insert(i, random.choice(BINARY + ATOMS + ["(", ")", "[", "]", ",", "not", "if", "else"]))
    else:
        tokens[i] = random.choice(BINARY + ["not", "if", "else", ")", "("])
    return tokens


class Unsupported(Exception):
    """Python has it and the language does not, or the two mean different things."""


class WrongType(Exception):
    """An integer where the language takes a boolean."""


def is_boolean(node):
    """The type that the language gives to the node."""
    match node:
        case ast.Constant():
            return isinstance(node.value, bool)
        case ast.Name():
            if node.id not in ("b", "h", "q", "kv", "q_len", "kv_len", "w"):
                raise Unsupported
            return False
        case ast.BoolOp():
            if not all([is_boolean(each) for each in node.values]):
                raise WrongType
            return True
        case ast.UnaryOp(op=ast.Not()):
            if not is_boolean(node.operand):
                raise WrongType
            return True
        case ast.UnaryOp():
            if is_boolean(node.operand) and isinstance(node.op, ast.Invert):
                raise Unsupported
            return False
        case ast.Compare():
            if not all(isinstance(op, COMPARISONS) for op in node.ops):
                raise Unsupported
            [is_boolean(each) for each in [node.left, *node.comparators]]
            return True
        case ast.BinOp():
            both = [is_boolean(node.left), is_boolean(node.right)]
            return all(both) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        case ast.IfExp():
            both = [is_boolean(node.body), is_boolean(node.orelse)]
            if not is_boolean(node.test):
                raise WrongType
            return all(both)
        case ast.Subscript(value=ast.Name(id="doc")) if not isinstance(node.slice, (ast.Tuple, ast.Slice)):
            is_boolean(node.slice)
            return False
        case ast.Call(func=ast.Name(id="abs" | "min" | "max" | "clamp" | "where")) if not node.keywords:
            types = [is_boolean(each) for each in node.args]
            name, count = node.func.id, len(node.args)
            if count != {"abs": 1, "clamp": 3, "where": 3}.get(name, max(count, 2)):
                raise Unsupported
            if name == "where":
                if not types.pop(0):
                    raise WrongType
            return name != "abs" and all(types)
    raise Unsupported


def checked_value(tree, point):
    """The value, with every part of the expression a value of 64 bits that a table has."""
    names = NAMES | point
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not (isinstance(node, ast.Name) and callable(names[node.id])):
            value = eval(compile(ast.Expression(node), "", "eval"), names)
            if isinstance(value, int) and not -2**63 <= value < 2**63:
                raise OverflowError
            if isinstance(node, ast.Subscript) and eval(compile(ast.Expression(node.slice), "", "eval"), names) < 0:
                raise IndexError
    return eval(compile(tree, "", "eval"), names)


def answer(text):
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return "syntax"
    try:
        boolean = is_boolean(tree.body)
        values = [checked_value(tree, point) for point in POINTS]
    except WrongType:
        return "type"
    except (Unsupported, OverflowError, ZeroDivisionError, ValueError, IndexError, TypeError):
        return None
    return " ".join(str(bool(v) if boolean else int(v)) for v in values)


def main():
    wanted, found = dict(syntax=150, type=80, value=400), {}
    while any(wanted.values()):
        tokens = expression()
        if random.random() < 0.3:
            tokens = altered(tokens)
        text = " ".join(tokens)
        result = answer(text)
        kind = result if result in ("syntax", "type", None) else "value"
        if kind and wanted[kind] and text not in found and len(tokens) > 2:
            found[text], wanted[kind] = result, wanted[kind] - 1
    lines = sorted(f"{result}\t{text}\n" for text, result in found.items())
    pathlib.Path(__file__).with_name("python_expressions.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
