"""What is decided on the elements of lists (rules L, F3 to F7), in words."""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.policy import OnConflict
from merge.values.deciding import check, rows

TABLE = """\
whole
o {whole: [1]}
u {whole: [1, 2]}
l {whole: [3]}
= {whole: [1, 2]}
V4 whole both!: both changed; upstream's value is kept

whole, one side
o {whole: [1]}
u {whole: [1, 2]}
l {whole: [1]}
= {whole: [1, 2]}
V2 whole upstream: changed

empty lists
o {l: []}
u {}
l {l: []}
= {}
V2 l upstream: removed

emptied and filled by nobody
o {}
u {l: []}
l {l: []}
= {l: []}

empty list against a null
o {}
u {l: []}
l {l: null}
= {l: []}
V5 l both!: both added to another kind of value; upstream's value is kept

named, each another
o {named: [{name: a, v: 1}, {name: b, v: 1}]}
u {named: [{name: a, v: 2}, {name: b, v: 1}]}
l {named: [{name: a, v: 1}, {name: b, v: 3}]}
= {named: [{name: a, v: 2}, {name: b, v: 3}]}
V2 named[name=a].v upstream: changed

named, one removed, other changed
o {named: [{name: a, v: 1}, {name: b, v: 1}]}
u {named: [{name: a, v: 1}]}
l {named: [{name: a, v: 1}, {name: b, v: 3}]}
= {named: [{name: a, v: 1}, {name: b, v: 3}]}
F5 named[name=b] both!: upstream removed it, local changed it; local's is kept

named, local removed, upstream changed
o {named: [{name: a, v: 1}, {name: b, v: 1}]}
u {named: [{name: a, v: 1}, {name: b, v: 3}]}
l {named: [{name: a, v: 1}]}
= {named: [{name: a, v: 1}]}
F5 named[name=b] both!: local removed it, upstream changed it; it remains removed

named, all gone
o {named: [{name: a}, {name: b}]}
u {named: [{name: a}]}
l {named: [{name: b}]}
= {named: [{name: a}]}
L3 named both!: each side removed what the other kept: both changed; upstream's value is kept

named, emptied
o {named: [{name: a}]}
u {named: []}
l {named: [{name: a}, {name: b}]}
= {named: [{name: b}]}
F5 named[name=a] upstream: removed

named, order of upstream
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: a}, {name: b}]}
l {named: [{name: a}, {name: b}, {name: c}, {name: d}]}
= {named: [{name: c}, {name: d}, {name: a}, {name: b}]}
L4 named[name=c] upstream: moved
L4 named[name=d] upstream: moved

named, orders of both
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: a}, {name: b}]}
l {named: [{name: b}, {name: a}, {name: c}]}
= {named: [{name: b}, {name: a}, {name: c}]}
L4 named both: upstream and local both reordered; local's order is kept

named, orders of both alike
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: a}, {name: b}]}
l {named: [{name: c}, {name: a}, {name: b}]}
= {named: [{name: c}, {name: a}, {name: b}]}

named, added by both
o {named: [{name: a}]}
u {named: [{name: a}, {name: u, v: 1}]}
l {named: [{name: a}, {name: u, v: 2}]}
= {named: [{name: a}, {name: u, v: 1}]}
V4 named[name=u].v both!: both added; upstream's value is kept

named twice, changed by both
o {named: [{name: a}, {name: a}]}
u {named: [{name: a}, {name: a}, {name: u}]}
l {named: [{name: l}, {name: a}, {name: a}]}
= {named: [{name: l}, {name: a}, {name: a}, {name: u}]}
L3 named[3] upstream: added
L1 named local!: no keys

named twice, conflict, / fail
o {named: [{name: a}, {name: a, v: 1}]}
u {named: [{name: a}, {name: a, v: 2}]}
l {named: [{name: a}, {name: a, v: 3}]}
= {named: [{name: a}, {name: a, v: 2}]}
L3 named both!!: one place (upstream has name=a; local has name=a): both changed; refused by onConflict: fail
V2 named[1] upstream: changed
L1 named local!: no keys

set, one each
o {set: [a, b]}
u {set: [a, b, u]}
l {set: [b, l]}
= {set: [b, l, u]}
V2 set[2] upstream: added

set, put in place
o {set: [a, b]}
u {set: [a, u]}
l {set: [a, l]}
= {set: [a, u]}
L2 set both!: one place (upstream has u; local has l): both changed; upstream's value is kept
L3 set[1] both: removed
V2 set[1] upstream: added

set twice
o {set: [a, a]}
u {set: [a, a, u]}
l {set: [l, a, a]}
= {set: [l, a, a, u]}
L3 set[3] upstream: added
L1 set local!: no keys

ordered, each another
o {l: [a, b, c]}
u {l: [u, b, c]}
l {l: [a, b, l]}
= {l: [u, b, l]}
F5 l[0] upstream: removed
V2 l[0] upstream: added

ordered, one place / local
o {l: [a, b]}
u {l: [a, u, b]}
l {l: [a, l, b]}
= {l: [a, l, u, b]}
V2 l[1] upstream: added

ordered, both replaced one
o {l: [a, b, c]}
u {l: [a, u, c]}
l {l: [a, l, c]}
= {l: [a, u, c]}
L2 l both!: one place (upstream has u; local has l): both changed; upstream's value is kept
L3 l[1] both: removed
V2 l[1] upstream: added

ordered, both replaced two
o {l: [a, b, c, d]}
u {l: [a, u, v, w, d]}
l {l: [a, l, d]}
= {l: [a, u, v, w, d]}
L2 l both!: one place (upstream has u, v, w; local has l): both changed; upstream's value is kept
L3 l[1] both: removed
V2 l[1] upstream: added
V2 l[2] upstream: added
V2 l[3] upstream: added

ordered, both replaced two / local
o {l: [a, b, c, d]}
u {l: [a, u, v, w, d]}
l {l: [a, l, d]}
= {l: [a, l, d]}
L2 l both!: one place (upstream has u, v, w; local has l): both changed; local's value is kept

ordered, removed the list
o {l: [a, b], k: 1}
u {k: 1}
l {l: [a], k: 1}
= {l: [a], k: 1}
F5 l both!: upstream removed it, local changed it; local's is kept

ordered, removed by
o {l: [a, b], k: 1}
u {l: [a], k: 1}
l {k: 1}
= {k: 1}
F5 l both!: local removed it, upstream changed it; it remains removed

set, removed by local, replaced by upstream
o {a: 1, set: [k3, k4]}
u {a: 1, set: [k2]}
l {a: 1}
= {a: 1}
F5 set both!: local removed it, upstream changed it; it remains removed

ordered, removed by local, added
o {l: [a, b], k: 1}
u {l: [a, b, c], k: 1}
l {k: 1}
= {k: 1}
F5 l both!: local removed it, upstream changed it; it remains removed

ordered, equal ones lost
o {l: [a, a, b]}
u {l: [a, b, u]}
l {l: [a, l, b]}
= {l: [a, b, u]}
L3 l both!: one place (upstream has nothing; local has l): both changed; upstream's value is kept
L3 l[1] upstream: removed
L3 l[2] upstream: added

ordered, other equal removed
o {l: [a, x, a, y]}
u {l: [x, a, y]}
l {l: [a, x, y]}
= {l: [x, a, y]}
L3 l both!: equal elements cannot be told apart: both changed; upstream's value is kept

ordered, from nothing
o {}
u {l: [u]}
l {l: [l]}
= {l: [u]}
L3 l both!: both added the list: both added; upstream's value is kept

ordered, moved
o {l: [a, b, c]}
u {l: [c, a, b]}
l {l: [a, b, c, d]}
= {l: [c, d, a, b]}
L4 l[2] upstream: moved
L4 l[3] upstream: moved

ordered, all removed
o {l: [a, b]}
u {l: [a]}
l {l: [b]}
= {l: [a]}
L3 l both!: each side removed what the other kept: both changed; upstream's value is kept

ordered, mapping merges inside
o {l: [{a: 1, b: 1, c: 1}]}
u {l: [{a: 2, b: 1, c: 1}]}
l {l: [{a: 1, b: 1, c: 3}]}
= {l: [{a: 2, b: 1, c: 3}]}
V2 l[0].a upstream: changed

ordered, mapping conflict inside
o {l: [{a: 1, b: 1, c: 1}]}
u {l: [{a: 2, b: 1, c: 1}]}
l {l: [{a: 3, b: 1, c: 1}]}
= {l: [{a: 2, b: 1, c: 1}]}
V4 l[0].a both!: both changed; upstream's value is kept

ordered, unlike in one place
o {l: [x, {a: 1}]}
u {l: [x, {b: 2}]}
l {l: [x, {c: 3}]}
= {l: [x, {b: 2}]}
L3 l both!: one place (upstream has b=2; local has c=3): both changed; upstream's value is kept
V2 l[1] upstream: changed

ordered, added alike
o {l: [x]}
u {l: [x, {a: 1, b: 1, c: 1}]}
l {l: [x, {a: 1, b: 1, c: 2}]}
= {l: [x, {a: 1, b: 1, c: 1}]}
L3 l both!: one place (upstream has a=1 b=1 c=1; local has a=1 b=1 c=2): both added; upstream's value is kept
V2 l[1] upstream: changed

ordered, added alike, more fields
o {l: [x]}
u {l: [x, {a: 1, b: 1, c: 1}]}
l {l: [x, {a: 1, b: 1, d: 2}]}
= {l: [x, {a: 1, b: 1, c: 1}]}
L3 l both!: one place (upstream has a=1 b=1 c=1; local has a=1 b=1 d=2): both added; upstream's value is kept
V2 l[1] upstream: changed

ordered, added options
o {l: [x]}
u {l: [x, --a=1]}
l {l: [x, --a=2]}
= {l: [x, --a=1]}
L3 l both!: one place (upstream has --a=1; local has --a=2): both added; upstream's value is kept
V2 l[1] upstream: changed

named, two names
o {named: [{name: a}]}
u {named: [{name: a}, {name: db, x: 1, y: 1, z: 1}]}
l {named: [{name: a}, {name: mainDb, x: 1, y: 1, z: 1}]}
= {named: [{name: a}, {name: mainDb, x: 1, "y": 1, z: 1}, {name: db, x: 1, "y": 1, z: 1}]}
V2 named[name=db] upstream: added

named, two names / local
o {named: [{name: a}]}
u {named: [{name: a}, {name: db, x: 1, y: 1, z: 1}]}
l {named: [{name: a}, {name: mainDb, x: 1, y: 1, z: 1}]}
= {named: [{name: a}, {name: mainDb, x: 1, "y": 1, z: 1}, {name: db, x: 1, "y": 1, z: 1}]}
V2 named[name=db] upstream: added

nested
o {l: [[a, b]]}
u {l: [[u, b]]}
l {l: [[a, l]]}
= {l: [[u, b]]}
L3 l both!: one place (upstream has [u, b]; local has [a, l]): both changed; upstream's value is kept
V2 l[0] upstream: changed

functions, each
o {functions: [{image: "a:1"}, {image: "b:1"}]}
u {functions: [{image: "a:2"}, {image: "b:1"}]}
l {functions: [{image: "a:1"}, {image: "b:1"}, {image: "c:1"}]}
= {functions: [{image: "a:2"}, {image: "b:1"}, {image: "c:1"}]}
V2 functions[image=a].image upstream: changed

functions, not identified
o {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
u {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
l {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
= {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
F3 functions[2] local!: the local function c is dropped
F3 functions both!: one value: both changed; upstream's value is kept; dropped from local: c; name all

functions, not identified / local
o {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
u {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
l {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
= {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
F3 functions both!: one value: both changed; local's value is kept

functions, not identified / fail
o {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
u {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
l {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
= {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
F3 functions both!!: one value: both changed; refused by onConflict: fail

functions, not identified, one side
o {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
u {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
l {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
= {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
F3 functions upstream: changed

functions, registry
o {functions: [{image: "r.io/a:1"}]}
u {functions: [{image: "r.io/a:2"}]}
l {functions: [{image: "m.io/a:1"}]}
= {functions: [{image: "m.io/a:2"}]}
F4 functions[image=m.io/a] both: the same function, its image moved to another registry
V10 functions[image=m.io/a].image both: changed

functions, added by both
o {functions: []}
u {functions: [{name: f, image: "a:1"}]}
l {functions: [{name: f, image: "a:2"}]}
= {functions: [{name: f, image: "a:1"}]}
V4 functions[name=f].image both!: both added; upstream's value is kept

functions, added by both, others
o {functions: []}
u {functions: [{name: f, image: "a:1"}]}
l {functions: [{name: f, image: "b:2"}]}
= {functions: [{name: f, image: "a:1"}]}
F7 functions[name=f] both!: two functions of one name or image: both added; upstream's value is kept

ordered, filled by upstream alone
o {l: []}
u {l: [a]}
l {l: []}
= {l: [a]}
V2 l[0] upstream: added

named, list removed by local, the rest by upstream
o {named: [{name: a}, {name: b}], k: 1}
u {named: [{name: a}], k: 1}
l {k: 1}
= {k: 1}
F5 named both!: local removed it, upstream changed it; it remains removed

named, reordered alike, one added
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: a}, {name: b}]}
l {named: [{name: c}, {name: a}, {name: l}, {name: b}]}
= {named: [{name: c}, {name: a}, {name: l}, {name: b}]}

named, one name with two keys
o {ports: [{port: 1, name: a}]}
u {ports: [{port: 2, name: a}]}
l {ports: [{port: 3, name: a}]}
= {ports: [{port: 2, name: a}]}
V4 ports[port=3].port both!: both changed; upstream's value is kept

ports, default written out
o {ports: [{port: 1}]}
u {ports: [{port: 1, protocol: TCP, x: 1}]}
l {ports: [{port: 1, y: 1}]}
= {ports: [{port: 1, y: 1, protocol: TCP, x: 1}]}
V2 ports[port=1].protocol upstream: added
V2 ports[port=1].x upstream: added

added by both, lists of texts inside
o {named: []}
u {named: [{name: b, l: [x]}]}
l {named: [{name: b, l: [y]}]}
= {named: [{name: b, l: [x]}]}
L3 named[name=b].l both!: both added the list: both added; upstream's value is kept

added by both, longer list of local inside
o {named: []}
u {named: [{name: b, l: [{p: 1}]}]}
l {named: [{name: b, l: [{p: 2}, {p: 3}]}]}
= {named: [{name: b, l: [{p: 1}]}]}
L3 named[name=b].l both!: both added the list: both added; upstream's value is kept

functions added by one
o {functions: []}
u {functions: [{name: f, image: "a:1"}]}
l {functions: []}
= {functions: [{name: f, image: "a:1"}]}
V2 functions[name=f] upstream: added
"""


@pytest.mark.parametrize(("original", "upstream", "local", "merged", "winner", "decisions"), rows(TABLE))
def test_what_is_decided_on_lists(
    original: str, upstream: str, local: str, merged: str, winner: OnConflict, decisions: list[str]
) -> None:
    check(original, upstream, local, merged, winner, decisions)
