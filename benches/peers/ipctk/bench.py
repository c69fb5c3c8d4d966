"""Times ipctk on one of our contact scenes, one thread, and prints one JSON object (CPU seconds, counts).

    python bench.py cube_pile
"""

import json
import os
import sys
import time

import ipctk
import numpy as np

from scenes import GAP, SCENES

BUDGET = 4.0


def best(f):
    """Least CPU time of as many calls as fit into the budget, and what the last one returned."""
    shortest, result, start = float("inf"), f(), time.perf_counter()
    while time.perf_counter() - start < BUDGET:
        t = time.process_time()
        result = f()
        shortest = min(shortest, time.process_time() - t)
    return shortest, result


name = sys.argv[1]
ipctk.set_num_threads(1)
ipctk.set_logger_level(ipctk.LoggerLevel.error)
x0, x1, edges, triangles, body = SCENES[name]()
x0, x1 = np.asfortranarray(x0), np.asfortranarray(x1)
mesh = ipctk.CollisionMesh(x0, edges, triangles)
if not name.startswith("cloth"):
    mesh.can_collide = ipctk.make_vertex_patches_filter(body)


def near():
    c = ipctk.Candidates()
    c.build(mesh, x0, GAP / 2, ipctk.LBVH())
    return c


def swept():
    c = ipctk.Candidates()
    c.build(mesh, x0, x1, 0.0, ipctk.LBVH())
    return c


def contacts():
    k = ipctk.NormalCollisions()
    k.build(candidates, mesh, x0, GAP)
    return k


out = {}
out["lbvh"], candidates = best(near)
out["lbvh_swept"], along = best(swept)
out["contacts"], collisions = best(contacts)
potential = ipctk.BarrierPotential(GAP, 1.0)
out["gradient"], _ = best(lambda: (potential(collisions, mesh, x0), potential.gradient(collisions, mesh, x0)))
clamp = ipctk.PSDProjectionMethod.CLAMP
out["hessian"], _ = best(lambda: potential.hessian(collisions, mesh, x0, clamp))
out["ccd"], step = best(lambda: along.compute_collision_free_stepsize(mesh, x0, x1, 0.0, ipctk.AdditiveCCD()))
out["exact"], _ = best(lambda: ipctk.has_intersections(mesh, x0))
out.update(candidates=len(candidates), swept=len(along), collisions=len(collisions), step=step)
print(json.dumps(out), flush=True)
os._exit(0)  # ipctk 1.6.1 may crash while the interpreter takes it down
