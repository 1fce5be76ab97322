package io.pipelane.config;

import java.nio.file.Path;
import java.util.Optional;

/** Who may ask what. */
public record SecurityConfig(
    @Key(
            about = "File of API keys, as digests, with roles, models and limits; read on change",
            unset = "everybody who can connect may do everything")
        Optional<Path> apiKeys,
    @Key(
            about =
                "Port where alone models are loaded, unloaded, uploaded and deleted, over HTTP; 0"
                    + " picks a free one",
            unset = "server.http-port and gRPC serve management too",
            min = "0",
            max = "65535")
        Optional<Integer> managementPort) {}
