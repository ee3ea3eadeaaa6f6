"""What is decided on fields of mappings, and on single values (rules V, F5, R1), in words."""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.policy import OnConflict
from merge.values.deciding import check, rows

TABLE = """\
all same
o {a: 1}
u {a: 1}
l {a: 1}
= {a: 1}

upstream changed
o {a: 1}
u {a: 2}
l {a: 1}
= {a: 2}
V2 a upstream: changed

both
o {a: 1}
u {a: 2}
l {a: 3}
= {a: 2}
V4 a both!: both changed; upstream's value is kept

both / local
o {a: 1}
u {a: 2}
l {a: 3}
= {a: 3}
V4 a both!: both changed; local's value is kept

both / fail
o {a: 1}
u {a: 2}
l {a: 3}
= {a: 2}
V4 a both!!: both changed; refused by onConflict: fail

kinds
o {a: 1}
u {a: [2]}
l {a: {b: 3}}
= {a: [2]}
V5 a both!: both changed to another kind of value; upstream's value is kept

removed by upstream, changed
o {a: 1}
u {}
l {a: 3}
= {}
V4 a both!: upstream removed it, local changed it; upstream's removal is kept

removed by local, changed
o {a: 1}
u {a: 2}
l {}
= {a: 2}
V4 a both!: upstream changed it, local removed it; upstream's value is kept

removed by local, changed / local
o {a: 1}
u {a: 2}
l {}
= {}
V4 a both!: upstream changed it, local removed it; local's removal is kept

added by both
o {}
u {a: 2}
l {a: 3}
= {a: 2}
V4 a both!: both added; upstream's value is kept

added by one
o {b: 1}
u {a: 2, b: 1}
l {b: 1}
= {a: 2, b: 1}
V2 a upstream: added

empty kept
o {a: {b: 1}}
u {a: {}}
l {a: {b: 1, c: 1}}
= {a: {c: 1}}
V2 a.b upstream: removed

removed map, other changed
o {a: {b: 1, c: 1}}
u {}
l {a: {b: 2, c: 1}}
= {a: {b: 2, c: 1}}
F5 a both!: upstream removed it, local changed it; local's is kept

local removed map, upstream added
o {m: {b: 1, c: 1}}
u {m: {b: 1, c: 1, d: 1}}
l {}
= {}
F5 m both!: local removed it, upstream changed it; it remains removed

removed mapping with mapping in map
o {map: {b: {x: 1}}}
u {}
l {map: {b: {x: 1}, d: 1}}
= {map: {d: 1}}
F5 map.b upstream: removed

both emptied
o {m: {b: 1, c: 1}}
u {m: {b: 1}}
l {m: {c: 1}}
= {m: {b: 1}}
V4 m both!: each side removed what the other kept: both changed; upstream's value is kept

image
o {image: "r.io/a:1"}
u {image: "m.io/a:1"}
l {image: "r.io/a:2"}
= {image: "m.io/a:2"}
V10 image both: changed

lines
o {a: "x\\ny\\nz\\n"}
u {a: "u\\ny\\nz\\n"}
l {a: "x\\ny\\nl\\n"}
= {a: "u\\ny\\nl\\n"}
V6 a both: changed

lines conflict
o {a: "x\\ny\\nz\\n"}
u {a: "u\\ny\\nz\\n"}
l {a: "l\\ny\\nz\\n"}
= {a: "u\\ny\\nz\\n"}
V6 a both!: upstream and local changed the same lines; upstream's lines are kept

lines conflict / local
o {a: "x\\ny\\nz\\n"}
u {a: "u\\ny\\nz\\n"}
l {a: "l\\ny\\nz\\n"}
= {a: "l\\ny\\nz\\n"}
V6 a both!: upstream and local changed the same lines; local's lines are kept

volume
o {volume: {file: 1}}
u {volume: {dir: 2}}
l {volume: {file: 3}}
= {volume: {dir: 2}}
V7 volume both!: upstream has dir, local has file, not both; upstream's choice is kept
V7 volume.file upstream: removed
V7 volume.dir upstream: added

volume / local
o {volume: {file: 1}}
u {volume: {dir: 2}}
l {volume: {file: 3}}
= {volume: {file: 3}}
V7 volume both!: upstream has dir, local has file, not both; local's choice is kept

volume removed, fields removed
o {volume: {file: {a: 1, b: 1}, x: 1}}
u {volume: {x: 1}}
l {volume: {file: {a: 1}, x: 1}}
= {volume: {x: 1}}
V7 volume both!: upstream has none of them, local has file, not both; upstream's choice is kept
V7 volume.file upstream: removed

volume fields removed, removed
o {volume: {file: {a: 1, b: 1}, x: 1}}
u {volume: {file: {a: 1}, x: 1}}
l {volume: {x: 1}}
= {volume: {file: {a: 1}, x: 1}}
V7 volume both!: upstream has file, local has none of them, not both; upstream's choice is kept
V7 volume.file upstream: added

volume removed, other
o {volume: {file: {a: 1}, x: 1}}
u {volume: {x: 1}}
l {volume: {dir: {a: 1}, x: 1}}
= {volume: {x: 1}}
V7 volume both!: upstream has none of them, local has dir, not both; upstream's choice is kept
V7 volume.dir upstream: removed

volume none before
o {volume: {x: 1}}
u {volume: {file: {a: 1}, x: 1}}
l {volume: {dir: {a: 1}, x: 1}}
= {volume: {file: {a: 1}, x: 1}}
V7 volume both!: upstream has file, local has dir, not both; upstream's choice is kept
V7 volume.dir upstream: removed
V7 volume.file upstream: added

strategy
o {strategy: {type: Rolling, rolling: 1}}
u {strategy: {type: Partition, partition: 2}}
l {strategy: {type: Rolling, rolling: 3}}
= {strategy: {type: Partition, partition: 2}}
V7 strategy both!: upstream has type and partition, local has type and rolling, not both; upstream's choice is kept
V7 strategy.rolling upstream: removed
V7 strategy.type upstream: changed
V7 strategy.partition upstream: added

alternative removed, and another kind of value in local
o {volume: {name: v, file: {a: 1}}}
u {volume: {name: v}}
l {volume: {name: v, file: 5}}
= {volume: {name: v}}
V7 volume both!: upstream has none of them, local has file, not both; upstream's choice is kept
V7 volume.file upstream: removed

annotations of both where local's are null
o {metadata: {annotations: {config.kubernetes.io/index: "1"}}}
u {metadata: {annotations: {config.kubernetes.io/index: "2", b: "1"}}}
l {metadata: {annotations: null}}
= {metadata: {annotations: {b: "1"}}}
V2 metadata.annotations["config.kubernetes.io/index"] local: removed
V2 metadata.annotations upstream: changed

other annotations where upstream's are null
o {metadata: {annotations: {a: "1"}}}
u {metadata: {annotations: null}}
l {metadata: {annotations: {a: "1"}}}
= {metadata: {annotations: null}}
V2 metadata.annotations upstream: changed

metadata of upstream null
o {metadata: {annotations: {config.kubernetes.io/index: "1"}}, k: 1}
u {metadata: null, k: 1}
l {metadata: {annotations: {config.kubernetes.io/index: "1"}}, k: 1}
= {metadata: {annotations: {config.kubernetes.io/index: "1"}}, k: 1}

text on one line of JSON
o {a: '{"x": 1}'}
u {a: '{"x": 2}'}
l {a: '{"x": 3}'}
= {a: '{"x": 2}'}
V4 a both!: both changed; upstream's value is kept

schema removed and added to
o {openAPIV3Schema: {a: 1, b: 1}, k: 1}
u {k: 1}
l {openAPIV3Schema: {a: 1, b: 1, c: 1}, k: 1}
= {openAPIV3Schema: {a: 1, b: 1, c: 1}, k: 1}
F5 openAPIV3Schema both!: upstream removed it, local changed it; local's is kept

inherited field
o {b: &x {p: 1, q: 1}, m: {<<: *x, r: 1}}
u {b: &x {p: 1, q: 1}, m: {<<: *x, r: 2}}
l {b: &x {p: 1, q: 1}, m: {<<: *x, r: 1, s: 1}}
= {b: {p: 1, q: 1}, m: {p: 1, q: 1, r: 2, s: 1}}
V2 m.r upstream: changed

containers are known by their names
o {spec: {containers: [{name: a, image: x, v: 1}, {name: b, image: y}]}}
u {spec: {containers: [{name: b, image: y}, {name: a, image: x, v: 2}]}}
l {spec: {containers: [{name: a, image: x, v: 1}, {name: b, image: z}]}}
= {spec: {containers: [{name: b, image: z}, {name: a, image: x, v: 2}]}}
L4 spec.containers[name=b] upstream: moved
V2 spec.containers[name=a].v upstream: changed
"""


@pytest.mark.parametrize(("original", "upstream", "local", "merged", "winner", "decisions"), rows(TABLE))
def test_what_is_decided_on_fields(
    original: str, upstream: str, local: str, merged: str, winner: OnConflict, decisions: list[str]
) -> None:
    check(original, upstream, local, merged, winner, decisions)
