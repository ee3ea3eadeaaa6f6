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

one key, another value of it is another element whatever its name is
o {ids: [{id: 1, name: n, v: 1}]}
u {ids: [{id: 2, name: n, v: 1}]}
l {ids: [{id: 1, name: n, v: 2}]}
= {ids: [{id: 1, name: n, v: 2}, {id: 2, name: n, v: 1}]}
F5 ids[id=1] both!: upstream removed it, local changed it; local's is kept
V2 ids[id=2] upstream: added

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
F5 l[1] upstream: removed
V2 l[1] upstream: added
V2 l[2] upstream: added

a set that local removed, and upstream left as it was / fail
o {set: [c]}
u {set: [c]}
l {k: 1}
= {k: 1}
V3 set upstream: removed

additions beside what both put in one place
o {l: [b, a, c, "--f=2"]}
u {l: ["x:v1.0", c, "--f=1"]}
l {l: [d, b, c, c, "--f=2"]}
= {l: [d, "x:v1.0", c, "--f=1"]}
F5 l[1] upstream: removed
L3 l[2] both!: both put others here; upstream's are kept
V2 l[0] upstream: added
V2 l[4] upstream: changed
L3 l both: both added here; local's come before upstream's

a conflict that comes up in the next merge as well
o {set: [d, "--f=1", "--f=2"]}
u {set: [d, "x:v1.1", a, "--f=2"]}
l {set: [d, "--f=2", "--f=2"]}
= {set: [d, "--f=2", "x:v1.1", a, "--f=2"]}
F5 set[1] both!: upstream removed it, local changed it; local's is kept
V2 set[1] upstream: added
V2 set[2] upstream: added
L1 set local!: no keys

a conflict that would come up in the next merge alone / local
o {l: [c, c, a]}
u {l: [a, c, a]}
l {l: [c, a]}
= {l: [c, a]}
L3 l both!: indistinct: both changed; local's value is kept

an id that local gave the element, and upstream one of two in its place
o {l: [{name: n, v: 1, w: 1}]}
u {l: [{id: 1, v: 2, w: 1}, {id: 3, v: 1, w: 1}]}
l {l: [{name: n, id: 1, v: 2}]}
= {l: [{name: n, id: 1, v: 2, w: 1}]}
V2 l[0].w upstream: added
F5 l[1] both!: local removed it, upstream changed it; it remains removed

an id that local put in the place of the name, and upstream beside one
o {l: [{name: b, v: 2, w: 1}]}
u {l: [{id: 3, v: 2, w: 1}, {name: n, id: 1, v: 2}]}
l {l: [{id: 1, v: 2, w: 1}]}
= {l: [{name: n, id: 1, v: 2, w: 1}]}
V2 l[0].name upstream: added
F5 l[0] both!: local removed it, upstream changed it; it remains removed

the id in one and the name in another element of upstream, where local removed the one that had both
o {l: [{name: b, id: 1, v: 2}]}
u {l: [{id: 1, v: 1, w: 1}, {name: b, v: 2, w: 1}]}
l {l: []}
= {l: [{id: 1, v: 1, w: 1}, {name: b, v: 2, w: 1}]}
L3 l both!: indistinct (new: upstream's [0], [1]): both changed; upstream's value is kept; key

the id in one and the name in another element of upstream, where local has both in one
o {l: [{id: 2, v: 2, w: 1}]}
u {l: [{id: 3, v: 2, w: 1}, {name: b, v: 2, w: 1}]}
l {l: [{name: b, id: 3, v: 2}]}
= {l: [{id: 3, v: 2, w: 1}, {name: b, v: 2, w: 1}]}
L3 l both!: both replaced all (new: upstream's [0], [1]; local's [0]): both changed; upstream's value is kept; key

a second element of one name, where local removed the first
o {l: [{name: b, v: 2, w: 1}]}
u {l: [{name: b, v: 2, w: 1}, {name: b, id: 1, v: 2}]}
l {l: []}
= {l: [{name: b, v: 2, w: 1}, {name: b, id: 1, v: 2}]}
L3 l both!: indistinct (new: upstream's [1]; gone: upstream's [0]): both changed; upstream's value is kept; key

two elements of one id that upstream put in the place of one that local removed
o {l: [{name: b, id: 2, v: 1}]}
u {l: [{name: a, id: 2, v: 1}, {name: n, id: 2, v: 1}]}
l {l: []}
= {l: [{name: a, id: 2, v: 1}, {name: n, id: 2, v: 1}]}
L3 l both!: indistinct (new: upstream's [0], [1]): both changed; upstream's value is kept; key

additions beside what upstream removed and local moved
o {l: [{id: 2, v: 2, w: 1}, {name: n, id: 3, v: 1}]}
u {l: [{name: a, id: 1, v: 2}]}
l {l: [{id: 2, v: 1, w: 1}, {name: n, id: 3, v: 1}, {name: b, id: 3, v: 2}, {id: 2, v: 2, w: 1}]}
= {l: [{id: 2, v: 1, w: 1}, {name: b, id: 3, v: 2}, {name: a, id: 1, v: 2}]}
F5 l[3] upstream: removed
F5 l[1] upstream: removed
V2 l[0] upstream: added
L3 l both: both added here; local's come before upstream's

one of two equal elements that local changed, and upstream removed both
o {l: [{name: n, v: 1, w: 1}, {name: n, v: 1, w: 1}, {name: n, id: 1, v: 2}]}
u {l: [{name: n, id: 1, v: 2}]}
l {l: [{name: b, v: 1, w: 1}, {name: n, v: 1, w: 1}, {name: n, id: 2, v: 2}]}
= {l: [{name: b, v: 1, w: 1}, {name: n, id: 2, v: 2}]}
F5 l[1] upstream: removed
F5 l[0] both!: upstream removed it, local changed it; local's is kept

what an element behind it has as well does not make local's a version of what upstream removed
o {l: [{k: 2, l: 1, m: 1}, {k: 1, l: 2}, {k: 1, l: 2, m: 2}]}
u {l: [{k: 2, l: 1, m: 1}, {k: 1, l: 2, m: 2}]}
l {l: [{k: 1, l: 1}, {k: 1, l: 2, m: 2}]}
= {l: [{k: 1, l: 1}, {k: 1, l: 2, m: 2}]}

the same of the second element behind it
o {l: [{k: 1, l: 1}, {k: 2, l: 1, m: 3}, {k: 1, l: 1}]}
u {l: [{k: 2, l: 1, m: 3}, {k: 2, l: 2, m: 2}]}
l {l: [{k: 2, l: 2, m: 2}, {k: 1, l: 1, m: 3}, {k: 2, l: 1, m: 3}, {k: 2, l: 2, m: 3}, {k: 1, l: 1}]}
= {l: [{k: 2, l: 2, m: 2}, {k: 1, l: 1, m: 3}, {k: 2, l: 1, m: 3}, {k: 2, l: 2, m: 3}]}
F5 l[4] upstream: removed

equal elements of which each side removed one, and upstream changed the rest
o {l: [{k: 2, l: 2, m: 2}, {k: 2, l: 2, m: 2}, {k: 1, l: 2, m: 1}]}
u {l: [{k: 1, l: 2}, {k: 2, l: 2, m: 2}]}
l {l: [{k: 2, l: 2, m: 2}, {k: 2, l: 1}]}
= {l: [{k: 1, l: 2}, {k: 2, l: 2, m: 2}]}
L3 l both!: indistinct (new: upstream's [0]; local's [1]): both changed; upstream's value is kept; key

removed by one, moved by the other, and both put another in its place
o {named: [{name: x}, {name: old}, {name: y}]}
u {named: [{name: x}, {name: n}, {name: y}]}
l {named: [{name: old}, {name: x}, {name: n}, {name: y}]}
= {named: [{name: old}, {name: x}, {name: n}, {name: y}]}

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
