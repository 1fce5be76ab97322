package io.pipelane.config;

import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/** The collector that spans of requests go to. */
public record TracingConfig(
    @Key(
            about =
                "Where spans of requests are sent, by OTLP over HTTP, such as"
                    + " http://localhost:4318/v1/traces",
            unset = "nothing is traced")
        Optional<URI> endpoint,
    @Key(
            about =
                "File of headers that are sent along, name: value on each line, such as"
                    + " authorization; read on change",
            unset = "none")
        Optional<Path> headers,
    @Key(
            about =
                "Certificates of the authorities that sign that of an https endpoint, in PEM; read"
                    + " at the start",
            unset = "those that Java trusts")
        Optional<Path> authorities,
    @Key(
            about =
                "Share of the requests that are traced, of those whose caller has not decided it",
            standard = "1")
        Ratio ratio) {}
