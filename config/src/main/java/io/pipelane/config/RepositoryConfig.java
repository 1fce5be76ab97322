package io.pipelane.config;

import java.nio.file.Path;
import java.util.Optional;

/** Where models and what is derived from them lie. */
public record RepositoryConfig(
    @Key(about = "Folder of models, <model>/<version>/model.onnx; may be read-only")
        Optional<Path> path,
    @Key(
            about =
                "Folder for what import derives from models; can be deleted while no server runs",
            standard = "${XDG_CACHE_HOME:-~/.cache}/pipelane")
        Path cache) {}
