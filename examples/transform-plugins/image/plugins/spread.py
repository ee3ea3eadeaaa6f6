#!/opt/fn/bin/python
"""A plugin in Python: spreads the Pods of every Deployment with several replicas over the nodes."""

from krm_merge.transform import Metadata, Object, Operation, OptionalField, Options, Response, serve

CONSTRAINTS = ("spec", "template", "spec", "topologySpreadConstraints")
TOPOLOGY_KEY = OptionalField("topology-key", "The label of nodes to spread over.", "topology.kubernetes.io/zone")


class Spread:
    name = "spread"
    metadata = Metadata(name, "v1", (TOPOLOGY_KEY,))

    def run(self, resource: Object, options: Options) -> Response:
        match resource:
            case {
                "kind": "Deployment",
                "spec": {"replicas": int(replicas), "selector": selector, "template": {"spec": dict(pod)}},
            } if replicas > 1 and "topologySpreadConstraints" not in pod:
                constraint = {
                    "maxSkew": 1,
                    "topologyKey": options.get(TOPOLOGY_KEY.name, "kubernetes.io/hostname"),
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": selector,
                }
                return Response.of(Operation("add", CONSTRAINTS, value=[constraint]))
            case _:
                return Response()


if __name__ == "__main__":
    raise SystemExit(serve(Spread()))
