"""lines.py - results as JSON that can be compared by eye and by diff: one row a line."""
import json


def write(path, result):
    def text(value):
        if isinstance(value, list) and value:
            return "[\n" + ",\n".join("  " + json.dumps(row) for row in value) + "\n ]"
        return json.dumps(value)

    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f' "{key}": {text(value)}' for key, value in result.items())
                   + "\n}\n")
