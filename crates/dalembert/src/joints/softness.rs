//! A constraint made springy: $\dot C^+ = -(\epsilon/h)\,C - r\lambda$.

/// Error reduction ε and regularization r of a row, for one step size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softness {
    /// ε: the part of the violation that one step takes away, 0 … 1.
    pub error_reduction: f64,
    /// r: how far the row yields per unit of force \[m/(N·s)\] or \[rad/(N·m·s)\].
    pub regularization: f64,
}

impl Softness {
    /// From a spring kp \[N/m\] and a damper kd \[N·s/m\] integrated implicitly over `h` \[s\]:
    /// λ = −kp C⁺ − kd Ċ⁺ and C⁺ = C + h Ċ⁺ give ε = h kp / (h kp + kd), r = 1 / (h kp + kd).
    pub fn from_gains(kp: f64, kd: f64, h: f64) -> Self {
        let s = h * kp + kd;
        Self { error_reduction: h * kp / s, regularization: 1.0 / s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soft_row_is_implicit_euler_of_its_spring_and_damper() {
        let (kp, kd, h) = (1000.0, 10.0, 0.01);
        let s = Softness::from_gains(kp, kd, h);
        assert_eq!((s.error_reduction, s.regularization), (0.5, 0.05));
        // Any λ: the velocity that the row asks for is the one whose spring-damper force is λ.
        for (c, lambda) in [(0.1, -30.0), (-0.02, 7.0)] {
            let rate = -(s.error_reduction / h) * c - s.regularization * lambda;
            let force = -kp * (c + h * rate) - kd * rate;
            assert!((force - lambda).abs() < 1e-12);
        }
    }
}
