//! Replicas: what names a repeated part is repeated with it.

use dalembert::bodies::articulated::description::{
    PathPoint, RobotDescription, TendonId, TendonPath, Transmission,
};

use super::{clean, refused, world};

/// Three copies of a finger, each with a hinge and two sites, beside one body that stands alone.
const FINGERS: &str = r#"<site name="w"/><replicate count="3" offset="1 0 0" sep="-"><site name="s" pos="0 0 1"/>
    <body name="a"><joint name="h"/><geom size="0.1" name="g"/><site name="t"/></body></replicate>
    <body name="o"><joint name="q"/><geom size="1"/></body>"#;

/// The sites of a tendon.
fn sites_of(robot: &RobotDescription, tendon: usize) -> Vec<&str> {
    let names: Vec<&str> = robot.sites().map(|(_, site)| site.name.as_str()).collect();
    let TendonPath::Spatial(points) = &robot.tendons[tendon].path else { panic!("a path") };
    let site = |point: &PathPoint| match point {
        PathPoint::Site(id) => names[id.0],
        other => panic!("{other:?}"),
    };
    points.iter().map(site).collect()
}

// Orders and names below are those of MuJoCo 4.0.0.
#[test]
fn a_tendon_between_repeated_sites_is_repeated_with_them() {
    let robot = clean(&world(
        FINGERS,
        r#"<tendon><spatial name="k"><site site="s"/><site site="t"/></spatial>
             <spatial name="one"><site site="s-0"/><site site="t-1"/></spatial>
             <spatial name="fan"><site site="w"/><site site="t"/></spatial></tendon>"#,
    ));
    let names: Vec<&str> = robot.tendons.iter().map(|tendon| tendon.name.as_str()).collect();
    assert_eq!(names, ["one", "k-0", "fan-0", "k-1", "fan-1", "k-2", "fan-2"]);
    assert_eq!(sites_of(&robot, 0), ["s-0", "t-1"]);
    assert_eq!(sites_of(&robot, 3), ["s-1", "t-1"]);
    assert_eq!(sites_of(&robot, 6), ["w", "t-2"]);
}

#[test]
fn whatever_names_a_repeated_part_is_repeated_in_the_order_of_the_copies() {
    let robot = clean(&world(
        FINGERS,
        r#"<tendon><fixed name="k"><joint joint="h" coef="1"/></fixed></tendon>
           <actuator><motor name="m" joint="h"/><motor name="z" joint="q"/><motor name="p" tendon="k"/></actuator>
           <equality><joint name="e" joint1="h"/></equality>
           <sensor><actuatorfrc name="f" actuator="m"/><framepos name="w" objtype="site" objname="t" cutoff="0"/>
             <jointpos joint="q" name="zz"/></sensor>
           <keyframe><key qpos="1 2 3 4" ctrl="1 2 3 4 5 6 7"/></keyframe>"#,
    ));
    let actuators: Vec<&str> = robot.actuators.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(actuators, ["z", "m-0", "p-0", "m-1", "p-1", "m-2", "p-2"]);
    assert_eq!(robot.actuators[4].transmission, Transmission::Tendon(TendonId(1)));
    let sensors: Vec<&str> = robot.sensors.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(sensors, ["zz", "f-0", "w-0", "f-1", "w-1", "f-2", "w-2"]);
    let equalities: Vec<&str> = robot.equalities.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(equalities, ["e-0", "e-1", "e-2"]);
}

#[test]
fn replicas_in_replicas_take_their_tendons_with_them() {
    let nested = format!(
        "<replicate count=\"2\" offset=\"0 1 0\"><site name=\"u\"/>{}</replicate>",
        r#"<replicate count="3" offset="1 0 0" sep="-"><site name="s"/><site name="t"/></replicate>"#
    );
    let robot = clean(&world(
        &nested,
        r#"<tendon><spatial name="k"><site site="u"/><site site="t"/></spatial>
             <spatial name="l"><site site="s"/><site site="t"/></spatial></tendon>"#,
    ));
    let names: Vec<&str> = robot.tendons.iter().map(|tendon| tendon.name.as_str()).collect();
    let wanted = "k-00 l-00 k-10 l-10 k-20 l-20 k-01 l-01 k-11 l-11 k-21 l-21";
    assert_eq!(names.join(" "), wanted);
    assert_eq!(sites_of(&robot, 8), ["u1", "t-11"]);
    assert_eq!(sites_of(&robot, 9), ["s-11", "t-11"]);
    // A name that no copy has is a mistake as ever.
    let typo = world(FINGERS, "<tendon><spatial><site site=\"s\"/><site site=\"tt\"/></spatial></tendon>");
    assert!(refused(&typo).contains("there is no site called"), "{}", refused(&typo));
}

#[test]
fn names_of_replicas_are_not_looked_for_without_end() {
    let copies = "<replicate count=\"30000\"><site name=\"s\"/></replicate>";
    let tendon = "<spatial><site site=\"s\"/><site site=\"x\"/></spatial>".repeat(2000);
    let text = world(copies, &format!("<tendon>{tendon}</tendon>"));
    assert!(refused(&text).contains("names of replicas are looked for"));
}
