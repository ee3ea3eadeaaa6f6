"""Which elements of lists are one thing, and what remains of them (rules L1 to L3, law D), in words."""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.policy import OnConflict
from merge.values.deciding import check, rows

TABLE = """\
a list under another name in local, an element removed by upstream
o {a: 1, l: [x, y, z]}
u {a: 1, l: [x, z]}
l {a: 1, m: [x, y, z]}
= {a: 1, m: [x, y, z]}
F5 l both!: local removed it, upstream changed it; it remains removed

an element whose name stayed, though its key changed
o {ids: [{id: 1, name: n, v: 1}]}
u {ids: [{id: 2, name: n, v: 1}]}
l {ids: [{id: 1, name: n, v: 2}]}
= {ids: [{id: 2, name: "n", v: 2}]}
V2 ids[id=1].id upstream: changed

an element without its keys is named by its position
o {ports: [{port: 1}, {v: 1}]}
u {ports: [{port: 1}, {v: 2}]}
l {ports: [{port: 1}, {v: 3}]}
= {ports: [{port: 1}, {v: 2}]}
V4 ports[1].v both!: both changed; upstream's value is kept

an empty list with keys that upstream removed
o {named: []}
u {}
l {named: []}
= {}
V2 named upstream: removed

moved and raised by upstream
o {l: ["x:v1.0", b, c]}
u {l: [b, c, "x:v1.1"]}
l {l: ["x:v1.0", b, c, d]}
= {l: [b, c, d, "x:v1.1"]}
V2 l[0] upstream: changed

moved by both, and doubled by upstream
o {l: [d, c]}
u {l: [c, d, d]}
l {l: [c, d]}
= {l: [c, d, d]}
L3 l[1] upstream: removed
L3 l[1] upstream: added
L3 l[2] upstream: added

a set that local removed, and upstream left as it was / fail
o {set: [c]}
u {set: [c]}
l {k: 1}
= {k: 1}

a conflict that would come up in the next merge alone / local
o {l: [c, c, a]}
u {l: [a, c, a]}
l {l: [c, a]}
= {l: [c, a]}
L3 l both!: one place (upstream has a, c; local has c): both changed; local's value is kept

equal elements of which each side removed one, and upstream changed the rest
o {l: [{k: 2, l: 2, m: 2}, {k: 2, l: 2, m: 2}, {k: 1, l: 2, m: 1}]}
u {l: [{k: 1, l: 2}, {k: 2, l: 2, m: 2}]}
l {l: [{k: 2, l: 2, m: 2}, {k: 2, l: 1}]}
= {l: [{k: 1, l: 2}, {k: 2, l: 2, m: 2}]}
L3 l both!: one place (upstream has nothing; local has k=2 l=1): both changed; upstream's value is kept
L3 l[1] upstream: removed
L3 l[0] upstream: added

removed by one, moved by the other, and both put another in its place
o {named: [{name: x}, {name: old}, {name: y}]}
u {named: [{name: x}, {name: n}, {name: y}]}
l {named: [{name: old}, {name: x}, {name: n}, {name: y}]}
= {named: [{name: x}, {name: "n"}, {name: "y"}]}
F5 named[name=old] upstream: removed

removed by one, moved by the other, and both added another at the end
o {named: [{name: x}, {name: old}]}
u {named: [{name: x}, {name: n}]}
l {named: [{name: old}, {name: x}, {name: n}]}
= {named: [{name: x}, {name: n}]}
F5 named[name=old] upstream: removed
"""


@pytest.mark.parametrize(("original", "upstream", "local", "merged", "winner", "decisions"), rows(TABLE))
def test_what_is_decided_on_elements(
    original: str, upstream: str, local: str, merged: str, winner: OnConflict, decisions: list[str]
) -> None:
    check(original, upstream, local, merged, winner, decisions)
