//! Laws of pictures and films.

use dalembert::prelude::*;
use dalembert_formats::recording::{Header, Recording, Writer};
use dalembert_viewer::drawing::Groups;
use dalembert_viewer::plot::{PlotOptions, plot_recording};
use dalembert_viewer::{Film, Live, Playback, Player, RenderOptions, Renderer, ViewerError, render_film};

fn swing() -> Simulation {
    let mut scene = Scene { title: "swing".into(), dt: 2e-3, ..Scene::default() };
    let arrangement = Arrangement::Chain { from: Vec3::zeros(), to: Vec3::new(1.0, 0.0, 0.0), count: 12 };
    scene.add(ParticleSet::new("rope", arrangement).mass(0.1));
    scene.add(SpringSet::along("links", "rope", Edges::Structural).stiffness(400.0).damping(0.2));
    scene.add(Fix::points("rope[0]"));
    scene.build().unwrap()
}

fn small() -> RenderOptions {
    RenderOptions { width: 160, height: 120, ..RenderOptions::default() }
}

fn film() -> Film {
    Film::take(&mut Live::new(swing()), 0.4, 10.0, Groups::EVERY).unwrap()
}

#[test]
fn the_same_scene_gives_the_same_pixels_for_any_number_of_threads() {
    let film = film();
    let draw = || {
        let renderer =
            Renderer::new(&film.drawing, &film.frames, RenderOptions { groups: Groups::EVERY, ..small() });
        film.frames.iter().map(|f| renderer.image(&film.drawing, f)).collect::<Vec<_>>()
    };
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let one = pool(1).install(draw);
    assert_eq!(one, pool(3).install(draw));
    assert_eq!(one, draw());
    assert_ne!(one[0], one[1]);
}

#[test]
fn everything_that_moves_stays_inside_the_picture() {
    let film = film();
    let options = RenderOptions { ground: false, ..small() };
    let renderer = Renderer::new(&film.drawing, &film.frames, options);
    for frame in &film.frames {
        let image = renderer.image(&film.drawing, frame);
        let (w, h) = (image.width as usize, image.height as usize);
        let at = |x: usize, y: usize| &image.pixels[3 * (y * w + x)..][..3];
        // The background changes from top to bottom only slightly; an object on the border would stand out.
        for y in 0..h {
            for x in [0, w - 1] {
                let apart = (0..3).map(|k| at(x, y)[k].abs_diff(at(0, y)[k])).max().unwrap();
                assert!(apart < 12, "something touches the border at {x}, {y}");
            }
        }
        let differing =
            (0..w * h).filter(|i| image.pixels[3 * i].abs_diff(image.pixels[3 * (i / w * w)]) > 40);
        assert!(differing.count() > 100, "the picture is blank");
    }
}

#[test]
fn png_and_gif_are_written_and_read_again_by_other_readers() {
    let folder = tempfile::tempdir().unwrap();
    let film = film();
    let (png, gif) = (folder.path().join("a.png"), folder.path().join("a.gif"));
    render_film(&film, &small(), &png, |_| {}).unwrap();
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&png).unwrap()));
    let reader = decoder.read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (160, 120));
    let mut done = 0;
    render_film(&film, &small(), &gif, |n| done = n).unwrap();
    assert_eq!(done, film.frames.len());
    let mut decoder = gif::DecodeOptions::new().read_info(std::fs::File::open(&gif).unwrap()).unwrap();
    let (mut count, mut hundredths) = (0, 0);
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        count += 1;
        hundredths += frame.delay;
    }
    assert_eq!((count, hundredths), (film.frames.len(), 17)); // 5 frames at 30 per second
    let again = std::fs::read(&gif).unwrap();
    render_film(&film, &small(), &gif, |_| {}).unwrap();
    assert_eq!(again, std::fs::read(&gif).unwrap());
}

#[test]
fn an_unknown_ending_is_refused_with_the_known_ones() {
    let error = render_film(&film(), &small(), "a.bmp".as_ref(), |_| {}).unwrap_err();
    assert!(matches!(error, ViewerError::UnknownEnding { .. }));
    assert!(error.to_string().contains("png, gif, mp4"), "{error}");
}

fn recorded(folder: &std::path::Path) -> (Simulation, std::path::PathBuf) {
    let mut sim = swing();
    let path = folder.join("swing.mcap");
    let mut packed = Vec::new();
    let header = Header { state_len: State::packed_len(&sim.model.layout), ..Header::default() };
    let mut writer = Writer::create(&path, &header).unwrap();
    for _ in 0..200 {
        sim.state.pack(&sim.model.layout, &mut packed);
        writer.write_frame(sim.state.time, sim.state.steps, &packed).unwrap();
        sim.step().unwrap();
    }
    writer.finish().unwrap();
    (sim, path)
}

#[test]
fn a_recording_shows_what_the_live_simulation_showed() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, path) = recorded(folder.path());
    let mut playback = Playback::new(sim.model.clone(), Recording::open(&path).unwrap()).unwrap();
    let mut live = Live::new(swing());
    let live = Film::take(&mut live, 0.39, 20.0, Groups::EVERY).unwrap();
    let again = Film::take(&mut playback, 1e9, 20.0, Groups::EVERY).unwrap();
    assert_eq!(playback.recorded(), Some((199, 200)));
    for (a, b) in live.frames.iter().zip(&again.frames) {
        assert_eq!((a.time, &a.vertices, &a.arrows), (b.time, &b.vertices, &b.arrows));
    }
    playback.seek(100_000).unwrap();
    assert_eq!(playback.recorded(), Some((199, 200)));
}

#[test]
fn energy_drift_and_tracks_are_plotted_and_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, path) = recorded(folder.path());
    let recording = Recording::open(&path).unwrap();
    let plot = |what: &[&str]| {
        let what: Vec<String> = what.iter().map(|s| s.to_string()).collect();
        plot_recording(&sim.model, &recording, &what)
    };
    let energy = plot(&["energy"]).unwrap();
    let names: Vec<&str> = energy.curves.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["kinetic", "potential", "total", "gravity", "links"]);
    assert_eq!(energy.y_label, "energy [J]");
    let drift = plot(&["drift"]).unwrap();
    assert_eq!((drift.curves[0].points[0][1], drift.curves[0].points.len()), (0.0, 200));
    assert_eq!(plot(&["track:rope[-1]"]).unwrap().curves.len(), 3);
    let wrong = plot(&["track:roppe"]).unwrap_err().to_string();
    assert!(wrong.contains("roppe") && wrong.contains("did you mean `rope`"), "{wrong}");
    let mixed = plot(&["energy", "rope.vx"]).unwrap_err().to_string();
    assert!(mixed.contains("m/s") && mixed.contains('J'), "{mixed}");
    for name in ["e.svg", "e.png"] {
        energy.write(&folder.path().join(name), &PlotOptions::default()).unwrap();
    }
    assert_eq!(energy.to_image(&PlotOptions::default()), energy.to_image(&PlotOptions::default()));
}

#[test]
fn a_film_becomes_mp4_where_ffmpeg_is_installed_and_a_clear_message_where_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mp4");
    match render_film(&film(), &RenderOptions { width: 161, ..small() }, &path, |_| {}) {
        Ok(()) => assert_eq!(&std::fs::read(&path).unwrap()[4..8], b"ftyp"),
        Err(error) => {
            assert!(matches!(error, ViewerError::NoFfmpeg { .. }), "{error}");
            assert!(error.to_string().contains("ffmpeg") && error.to_string().contains(".gif"), "{error}");
        }
    }
}

#[test]
fn a_recording_that_was_cut_off_is_shown_up_to_its_last_whole_frame_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (sim, path) = recorded(folder.path());
    let whole = Playback::new(sim.model.clone(), Recording::open(&path).unwrap()).unwrap();
    assert_eq!(whole.notice(), None);
    let bytes = std::fs::read(&path).unwrap();
    let mut said = 0;
    for length in (bytes.len() / 2..bytes.len()).step_by(bytes.len() / 40) {
        let cut = folder.path().join("cut.mcap");
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let opened = Recording::open(&cut).map_err(ViewerError::from);
        match opened.and_then(|r| Playback::new(sim.model.clone(), r)) {
            Ok(mut playback) => {
                said += usize::from(playback.notice().is_some_and(|n| n.contains("cut off")));
                while playback.step().unwrap() {}
            }
            Err(ViewerError::NothingToShow) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(said > 0);
}
