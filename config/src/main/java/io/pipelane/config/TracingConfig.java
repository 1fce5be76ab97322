package io.pipelane.config;

import java.net.URI;
import java.util.Optional;

/** Where spans of requests go. */
public record TracingConfig(
    @Key(
            about =
                "Where spans of requests are sent, by OTLP over HTTP, such as"
                    + " http://localhost:4318/v1/traces",
            unset = "nothing is traced")
        Optional<URI> endpoint,
    @Key(
            about =
                "Share of the requests that are traced, of those whose caller has not decided it",
            standard = "1")
        Ratio ratio) {}
