package io.pipelane.config.section;

import io.pipelane.config.value.Ratio;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/** The collector that spans of requests go to. */
public record TracingConfig(
    @Key(
            about =
                "URL that receives the spans of requests by OTLP over HTTP, such as"
                    + " http://localhost:4318/v1/traces",
            unset = "nothing is traced")
        Optional<URI> endpoint,
    @Key(
            about =
                "File of headers to send to the collector, such as authorization, written as"
                    + " name: value, one on each line. The server reads it again when it changes",
            unset = "none")
        Optional<Path> headers,
    @Key(
            about =
                "Certificates of the authorities that sign the certificate of an https endpoint,"
                    + " in PEM. The server reads them at its start",
            unset = "those that Java trusts")
        Optional<Path> authorities,
    @Key(
            about = "Share of the requests to trace, of those whose caller has not decided",
            standard = "1")
        Ratio ratio) {}
