"""MuJoCo or PyBullet on the contact scenes of `dalembert bench`: time that the thread worked per step, one JSON object.

usage: piles.py newton|cg|bullet sphere_bin|boxes N
       piles.py newton|cg humanoids MODEL.xml N

Scenes, friction, step and windows are those of our bench: 250 steps that are not counted, then 100 that are. Humanoids
fall for 400 steps and lie for the counted ones. As in our bench the window is run again from the same state and the fastest run
counts, up to fifteen more and as long as all take less than 5 s; these runs are one call each, without a look at contacts. At most
60 s are spent on a window.
"""
import json
import sys
import time

WARM, STEPS, LIMIT, RUNS, AGAIN = 250, 100, 60.0, 15, 5.0
R = 0.05


def jitter(i):
    return ((i * 2654435761) % 1000) / 500.0 - 1.0


def places(n):
    side = max(2, round((n / 2) ** (1 / 3)))
    at = lambda i: (i - (side - 1) / 2) * R * 2.2
    for i in range(n):
        x = at(i % side) + 0.005 * jitter(2 * i)
        y = at((i // side) % side) + 0.005 * jitter(2 * i + 1)
        yield x, y, R * 1.2 + (i // (side * side)) * R * 2.2


def walls(n):
    w = max(2, round((n / 2) ** (1 / 3))) * R * 1.15 + 0.06
    return [(w, 0, 0.05, w), (-w, 0, 0.05, w), (0, w, w, 0.05), (0, -w, w, 0.05)]


def measure(step, contacts, save, restore, warm, steps):
    """`step(n)` makes n steps."""
    start = time.perf_counter()
    for _ in range(warm):
        step(1)
        if time.perf_counter() - start > LIMIT:
            break
    save()
    start = time.perf_counter()
    row = window(step, contacts, steps)
    for _ in range(RUNS):
        if time.perf_counter() - start > AGAIN:
            break
        restore()
        clock = time.thread_time()
        step(steps)
        row["seconds_per_step"] = min(row["seconds_per_step"], (time.thread_time() - clock) / steps)
    return row


def window(step, contacts, steps):
    seconds, count, deepest, done, points = 0.0, 0, 0.0, 0, 0
    start = time.perf_counter()
    while done < steps and time.perf_counter() - start < LIMIT:
        clock = time.thread_time()
        step(1)
        seconds += time.thread_time() - clock
        done += 1
        points, overlap = contacts()
        count, deepest = count + points, max(deepest, overlap)
    return {"seconds_per_step": seconds / done, "contacts": count // done, "overlap": deepest, "steps": done}


def in_mujoco(solver, model, warm, steps):
    import mujoco

    model.opt.solver = {"newton": mujoco.mjtSolver.mjSOL_NEWTON, "cg": mujoco.mjtSolver.mjSOL_CG}[solver]
    data, saved = mujoco.MjData(model), mujoco.MjData(model)

    def contacts():
        gaps = data.contact.dist
        return int((gaps <= 0).sum()), float(max(0.0, -gaps.min())) if len(gaps) else 0.0

    save = lambda: mujoco.mj_copyData(saved, model, data)
    restore = lambda: mujoco.mj_copyData(data, model, saved)
    return measure(lambda n: mujoco.mj_step(model, data, n), contacts, save, restore, warm, steps)


def mujoco_pile(solver, kind, n):
    import mujoco

    text = ['<mujoco><option timestep="0.002"/><size memory="2G"/><default><geom friction="0.5" density="1000"/></default><worldbody>'
            '<geom type="plane" size="5 5 0.1"/>']
    if kind == "sphere":
        text += [f'<geom type="box" pos="{x} {y} 5" size="{a} {b} 5"/>' for x, y, a, b in walls(n)]
    size = f"{R}" if kind == "sphere" else f"{R} {R} {R}"
    text += [f'<body pos="{x!r} {y!r} {z!r}"><freejoint/><geom type="{kind}" size="{size}"/></body>' for x, y, z in places(n)]
    text.append("</worldbody></mujoco>")
    return in_mujoco(solver, mujoco.MjModel.from_xml_string("".join(text)), WARM, STEPS)


def bullet_pile(kind, n):
    import math

    import pybullet as p

    p.connect(p.DIRECT)
    p.setGravity(0, 0, -9.81)
    p.setTimeStep(0.002)
    fixed = [p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE))]
    if kind == "sphere":
        for x, y, a, b in walls(n):
            fixed.append(p.createMultiBody(0, p.createCollisionShape(p.GEOM_BOX, halfExtents=[a, b, 5]), basePosition=[x, y, 5]))
        shape, mass = p.createCollisionShape(p.GEOM_SPHERE, radius=R), 4000 / 3 * math.pi * R**3
    else:
        shape, mass = p.createCollisionShape(p.GEOM_BOX, halfExtents=[R] * 3), 8000 * R**3
    for i in fixed:
        p.changeDynamics(i, -1, lateralFriction=1.0)  # coefficients multiply
    for x, y, z in places(n):
        i = p.createMultiBody(mass, shape, basePosition=[x, y, z])
        p.changeDynamics(i, -1, lateralFriction=0.5**0.5)

    def contacts():
        gaps = [c[8] for c in p.getContactPoints()]
        return sum(g <= 0 for g in gaps), max(0.0, -min(gaps, default=0.0))

    kept = []
    restore = lambda: p.restoreState(kept[0])
    step = lambda n: [p.stepSimulation() for _ in range(n)]
    return measure(step, contacts, lambda: kept.append(p.saveState()), restore, WARM, STEPS)


engine, scene = sys.argv[1], sys.argv[2]
if scene == "humanoids":
    import mujoco

    n = int(sys.argv[4])
    model = mujoco.MjModel.from_xml_path(sys.argv[3])
    model.opt.timestep = 0.005
    row = in_mujoco(engine, model, 400, 400 if n == 1 else 100)
else:
    n, kind = int(sys.argv[3]), "sphere" if scene == "sphere_bin" else "box"
    row = bullet_pile(kind, n) if engine == "bullet" else mujoco_pile(engine, kind, n)
print(json.dumps({"name": scene, "n": n, **row}))
