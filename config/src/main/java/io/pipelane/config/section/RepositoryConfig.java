package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.ModelName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The places of models and of what is derived from them. */
public record RepositoryConfig(
    @Key(about = "Folder of the models, as <model>/<version>/model.onnx; it may be read-only")
        Optional<Path> path,
    @Key(
            about =
                "Name of the only model. repository.path is then this model's own folder, with"
                    + " its versions or model.onnx itself",
            unset = "repository.path holds a folder for each model")
        Optional<ModelName> modelName,
    @Key(
            about =
                "Folder for what import derives from models and for the chosen versions and"
                    + " labels. You may delete it while no server runs",
            standard = "${XDG_CACHE_HOME:-~/.cache}/pipelane")
        Path cache,
    @Key(
            about =
                "How often the server looks at repository.path for models that are new, changed"
                    + " or gone. It follows a change once two looks find the same; 0 means never",
            standard = "0s",
            min = "0s",
            max = "24h")
        Duration poll,
    @Key(
            about =
                "Whether models may be uploaded into repository.path and deleted, and their"
                    + " options changed, over HTTP",
            standard = "false")
        boolean upload,
    @Key(
            about = "Largest upload, both packed and unpacked",
            standard = "4GiB",
            min = "1KiB",
            max = "1024GiB")
        ByteSize uploadLimit) {}
