package io.pipelane.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The places of models and of what is derived from them. */
public record RepositoryConfig(
    @Key(about = "Folder of models, <model>/<version>/model.onnx; may be read-only")
        Optional<Path> path,
    @Key(
            about =
                "Name of the only model, whose own folder repository.path is: its versions, or"
                    + " model.onnx itself, lie in it",
            unset = "repository.path holds a folder for each model")
        Optional<ModelName> modelName,
    @Key(
            about =
                "Folder for what import derives from models, and for what is chosen of their versions;"
                    + " can be deleted while no server runs",
            standard = "${XDG_CACHE_HOME:-~/.cache}/pipelane")
        Path cache,
    @Key(
            about =
                "How often path is looked at for models that have come, changed or gone; what has"
                    + " changed is followed once it looks the same twice; 0 means never",
            standard = "0s",
            min = "0s",
            max = "24h")
        Duration poll,
    @Key(
            about = "Whether models may be uploaded over HTTP into repository.path, and deleted",
            standard = "false")
        boolean upload,
    @Key(about = "Largest upload, packed or not", standard = "4GiB", min = "1KiB", max = "1024GiB")
        ByteSize uploadLimit) {}
