"""The contact scenes of `dalembert bench collide`, number by number: see bench/collide_scenes.rs of the program."""

import numpy as np

GAP = 1e-2


def edges_of(triangles):
    sides = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0).astype(np.int32)


def joined(parts):
    """Parts (x, moved, triangles) as one mesh, with the body of each vertex."""
    x, moved, triangles, body, first = [], [], [], [], 0
    for k, (a, b, t) in enumerate(parts):
        x.append(a)
        moved.append(b)
        triangles.append(t + first)
        body.append(np.full(len(a), k, np.int32))
        first += len(a)
    triangles = np.vstack(triangles).astype(np.int32)
    return np.vstack(x), np.vstack(moved), edges_of(triangles), triangles, np.concatenate(body)


def cube_pile(n):
    corners = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)], float) - 0.5
    triangles = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
         [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])
    pitch = 1 + 0.5 * GAP
    middle = 0.5 * (n - 1) * pitch * np.ones(3)
    parts = []
    for b in range(n**3):
        center = pitch * np.array([b // (n * n), b // n % n, b % n], float)
        w = 1e-3 * np.sin(b * (1.7 + np.arange(3)) + 0.3)
        x = corners + np.cross(w, corners) + center
        parts.append((x, x - 0.02 * (center - middle), triangles))
    return joined(parts)


def ball_in_socket(level):
    unit, triangles = icosphere(level)
    radius = lambda p: 1 + 0.02 * np.sin(5 * p[:, 0]) * np.sin(6 * p[:, 1]) * np.sin(5 * p[:, 2])
    ball = unit * radius(unit)[:, None]
    s, c = np.sin(0.7), np.cos(0.7)
    q = np.stack([c * unit[:, 0] - s * unit[:, 1], s * unit[:, 0] + c * unit[:, 1], unit[:, 2]], 1)
    q = np.stack([q[:, 0], c * q[:, 1] - s * q[:, 2], s * q[:, 1] + c * q[:, 2]], 1)
    shell = q * (radius(q) + 0.5 * GAP)[:, None]
    moved = np.stack(
        [ball[:, 0] - 0.03 * ball[:, 1], ball[:, 1] + 0.03 * ball[:, 0], ball[:, 2] + 2 * GAP], 1)
    return joined([(ball, moved, triangles), (shell, shell, triangles)])


def cloth_on_sphere(n):
    unit, sphere = icosphere(5)
    side = 1.6 * (np.arange(n + 1) / n - 0.5)
    x, y = (a.ravel() for a in np.meshgrid(side, side, indexing="ij"))
    rho = np.hypot(x, y)
    s = np.where(rho > 0, np.sin(rho) / np.where(rho > 0, rho, 1), 1)
    cloth = (1 + 0.5 * GAP) * np.stack([s * x, s * y, np.cos(rho)], 1)
    triangles = []
    for i in range(n):
        for j in range(n):
            a = i * (n + 1) + j
            b, c, d = a + n + 1, a + n + 2, a + 1
            triangles += [[a, b, c], [a, c, d]] if (i + j) % 2 == 0 else [[a, b, d], [b, c, d]]
    return joined([(unit, unit, sphere), (cloth, (1 - 2 * GAP) * cloth, np.array(triangles))])


def icosphere(level):
    t = (1 + 5**0.5) / 2
    x = []
    for turn in range(3):
        for a, b in [(-1, t), (1, t), (-1, -t), (1, -t)]:
            p = np.array([[a, b, 0], [0, a, b], [b, 0, a]][turn], float)
            x.append(p / np.linalg.norm(p))
    triangles = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4],
                 [11, 10, 2], [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8],
                 [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]]
    for _ in range(level):
        middles, finer = {}, []

        def middle(a, b):
            key = (min(a, b), max(a, b))
            if key not in middles:
                m = x[a] + x[b]
                x.append(m / np.linalg.norm(m))
                middles[key] = len(x) - 1
            return middles[key]

        for a, b, c in triangles:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            finer += [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        triangles = finer
    return np.array(x), np.array(triangles)


SCENES = {
    "cube_pile": lambda: cube_pile(5),
    "ball_in_socket": lambda: ball_in_socket(4),
    "cloth_on_sphere": lambda: cloth_on_sphere(60),
}
