"""The shape of every built-in kind: which fields a struct has, their types, and how they are merged.

table.txt is the one source (tools/field_table.py writes it from the API types of Kubernetes). A line `[package]` opens
a package, an unindented line a struct (`atomic` where it is merged as a whole), and each indented line is a field:

    NUMBER NAME TYPE MARK...

NUMBER is the protobuf field number (0: not in protobuf). NAME is the JSON name, `=` where the struct's fields
are those of the field's type (Go's inline). TYPE is a scalar (string, bool, int32, int64, float64, bytes), a special
(Quantity, Time, MicroTime, Duration, IntOrString, Any), a struct of the same package, a `package.Struct`, or
`[]TYPE`, `{}TYPE` (a map with string keys) or `[]string~` (a list that protobuf wraps into a message).
Marks: `keep` written even if zero or empty, `ptr` zero differs from absent, `required`; `merge` and `merge=KEY`,
`retainKeys`, `replace` for strategic merge patches; `set`, `map=KEY,...`, `atomic` for server-side apply.
"""
