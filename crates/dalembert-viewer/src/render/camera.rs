//! Camera: which way a picture looks, and how far away it must stand.
//!
//! With unit axes r (right), u (up), f (forward) at the eye e, a point p lies at depth $z = f\cdot(p-e)$ and appears at
//! $s_x = r\cdot(p-e)/z$, $s_y = u\cdot(p-e)/z$; the picture shows $|s_x| \le t_x$, $|s_y| \le t_y$ with
//! $t_y = \tan(\text{fov}/2)$ and $t_x = t_y\,\text{width}/\text{height}$.
//!
//! **Framing.** All points are seen if $\pm r\cdot(p-e) \le t_x f\cdot(p-e)$ for each. With
//! $A = \max_p (r - t_x f)\cdot p$ and $B = \max_p (-r - t_x f)\cdot p$ this reads $r\cdot e - t_x f\cdot e \ge A$ and
//! $-r\cdot e - t_x f\cdot e \ge B$; the nearest such eye has $r\cdot e = (A - B)/2$ and
//! $f\cdot e = -(A + B)/(2 t_x)$. The same with u; the farther of the two distances serves both.

use nalgebra::Vector3;

pub(crate) type V3 = Vector3<f32>;

/// Where a picture is taken from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum View {
    /// Looks from the given side and stands as far away as needed to see the whole motion.
    Auto {
        /// Direction of the camera around the vertical, from the x axis towards y \[rad\].
        azimuth: f32,
        /// Height of the camera above the horizon \[rad\], −π/2 … π/2.
        elevation: f32,
    },
    /// The same at a given distance from the middle of the motion.
    Orbit {
        /// See [`View::Auto`] \[rad\].
        azimuth: f32,
        /// See [`View::Auto`] \[rad\].
        elevation: f32,
        /// From the middle of the motion to the camera \[m\], > 0.
        distance: f32,
    },
    /// Looks from one place at another.
    At {
        /// Place of the camera \[m\].
        position: [f32; 3],
        /// Place in the middle of the picture \[m\].
        target: [f32; 3],
    },
}

impl Default for View {
    fn default() -> Self {
        View::Auto { azimuth: -1.05, elevation: 0.32 }
    }
}

impl View {
    /// Reads `AZIMUTH,ELEVATION` or `AZIMUTH,ELEVATION,DISTANCE` (degrees, metres) or `X,Y,Z:X,Y,Z` (place and target,
    /// metres).
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = |s: &str| -> Option<Vec<f32>> {
            s.split(',').map(|n| n.trim().parse().ok().filter(|n: &f32| n.is_finite())).collect()
        };
        let wrong = || {
            format!(
                "the camera `{text}` should read `azimuth,elevation`, `azimuth,elevation,distance` (degrees, metres) \
                 or `x,y,z:x,y,z` (its place and what it looks at)"
            )
        };
        if let Some((position, target)) = text.split_once(':') {
            let triple = |s| numbers(s).and_then(|n| <[f32; 3]>::try_from(n).ok()).ok_or_else(wrong);
            let (position, target) = (triple(position)?, triple(target)?);
            if position == target {
                return Err(format!("the camera `{text}` looks at its own place"));
            }
            return Ok(View::At { position, target });
        }
        let rad = f32::to_radians;
        match numbers(text).ok_or_else(wrong)?[..] {
            [a, e] if e.abs() <= 90.0 => Ok(View::Auto { azimuth: rad(a), elevation: rad(e) }),
            [a, e, d] if e.abs() <= 90.0 && d > 0.0 => {
                Ok(View::Orbit { azimuth: rad(a), elevation: rad(e), distance: d })
            }
            _ => Err(wrong()),
        }
    }
}

/// An eye with its axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    pub(crate) eye: V3,
    pub(crate) right: V3,
    pub(crate) up: V3,
    pub(crate) forward: V3,
    /// Half the height of the picture at depth 1.
    pub(crate) tan_y: f32,
    /// Half the width of the picture at depth 1.
    pub(crate) tan_x: f32,
}

/// Vertical opening of the camera \[rad\].
const FIELD_OF_VIEW: f32 = 0.56;

impl Camera {
    /// The camera for a view of `points` in a picture of `width` × `height` pixels. Around a fitted motion 12 % of
    /// the picture stays free.
    pub fn new(view: View, points: &[[f32; 3]], width: u32, height: u32) -> Self {
        let tan_y = (0.5 * FIELD_OF_VIEW).tan();
        let tan_x = tan_y * width as f32 / height as f32;
        let looking = |forward: V3, eye: V3| {
            let side = forward.cross(&V3::z());
            let right = if side.norm() > 1e-6 { side.normalize() } else { V3::x() };
            Camera { eye, right, up: right.cross(&forward), forward, tan_y, tan_x }
        };
        let towards = |azimuth: f32, elevation: f32| {
            let (sa, ca) = azimuth.sin_cos();
            let (se, ce) = elevation.sin_cos();
            -V3::new(ce * ca, ce * sa, se)
        };
        match view {
            View::At { position, target } => {
                let eye = V3::from(position);
                looking((V3::from(target) - eye).normalize(), eye)
            }
            View::Orbit { azimuth, elevation, distance } => {
                let forward = towards(azimuth, elevation);
                looking(forward, middle(points) - forward * distance)
            }
            View::Auto { azimuth, elevation } => {
                let mut camera = looking(towards(azimuth, elevation), V3::zeros());
                camera.eye = camera.fit(points, 0.88);
                camera
            }
        }
    }

    /// The nearest eye that sees all points within `share` of the picture.
    fn fit(&self, points: &[[f32; 3]], share: f32) -> V3 {
        let (r, u, f) = (self.right, self.up, self.forward);
        let farthest = |axis: V3, t: f32| {
            points.iter().map(|p| (axis - f * t).dot(&V3::from(*p))).fold(f32::NEG_INFINITY, f32::max)
        };
        let (tx, ty) = (share * self.tan_x, share * self.tan_y);
        let (a, b) = (farthest(r, tx), farthest(-r, tx));
        let (c, d) = (farthest(u, ty), farthest(-u, ty));
        if !(a + b + c + d).is_finite() {
            return f * -5.0;
        }
        let depth = (-(a + b) / (2.0 * tx)).min(-(c + d) / (2.0 * ty));
        // Points in a heap need a little distance of their own.
        let nearest = points.iter().map(|p| f.dot(&V3::from(*p))).fold(f32::INFINITY, f32::min);
        let depth = depth.min(nearest - 1e-3);
        r * (0.5 * (a - b)) + u * (0.5 * (c - d)) + f * depth
    }

    /// Direction with depth 1 through a place of the picture, both coordinates −1 … 1 (right, up).
    #[inline(always)]
    pub(crate) fn ray(&self, x: f32, y: f32) -> V3 {
        self.forward + self.right * (x * self.tan_x) + self.up * (y * self.tan_y)
    }

    /// Right, up and depth of a point, before division.
    #[inline(always)]
    pub(crate) fn local(&self, p: V3) -> V3 {
        let d = p - self.eye;
        V3::new(self.right.dot(&d), self.up.dot(&d), self.forward.dot(&d))
    }
}

/// Middle of the box around points.
pub(crate) fn middle(points: &[[f32; 3]]) -> V3 {
    let (low, high) = bounds(points);
    if low.x.is_finite() && high.x.is_finite() { (low + high) * 0.5 } else { V3::zeros() }
}

/// The box around points.
pub(crate) fn bounds(points: &[[f32; 3]]) -> (V3, V3) {
    let (mut low, mut high) = (V3::repeat(f32::INFINITY), V3::repeat(f32::NEG_INFINITY));
    for p in points {
        (low, high) = (low.inf(&V3::from(*p)), high.sup(&V3::from(*p)));
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fitted_camera_sees_every_point_and_touches_its_frame() {
        let points: Vec<[f32; 3]> = (0..40)
            .map(|i| [(i as f32).sin() * 3.0, (1.7 * i as f32).cos(), (0.3 * i as f32).sin() + 7.0])
            .collect();
        for (width, height) in [(800, 600), (300, 900)] {
            for azimuth in [-2.0, 0.3, 1.9] {
                let camera = Camera::new(View::Auto { azimuth, elevation: 0.4 }, &points, width, height);
                let worst = points
                    .iter()
                    .map(|p| {
                        let l = camera.local(V3::from(*p));
                        assert!(l.z > 0.0);
                        (l.x / l.z / camera.tan_x).abs().max((l.y / l.z / camera.tan_y).abs())
                    })
                    .fold(0.0, f32::max);
                assert!((worst - 0.88).abs() < 1e-3, "{worst}");
            }
        }
    }

    #[test]
    fn a_camera_is_read_from_text_or_refused_with_the_text() {
        assert!(matches!(View::parse("30, 20"), Ok(View::Auto { .. })));
        assert!(matches!(View::parse("30,20,4"), Ok(View::Orbit { distance: 4.0, .. })));
        assert_eq!(View::parse("1,2,3:0,0,0"), Ok(View::At { position: [1.0, 2.0, 3.0], target: [0.0; 3] }));
        for bad in ["", "1", "1,2,3:4", "0,100", "a,b", "1,2,3:1,2,3", "0,0,-1", "nan,0"] {
            assert!(View::parse(bad).unwrap_err().contains(bad), "{bad}");
        }
    }
}
