package io.pipelane.config;

/** Requests that wait for their turn. */
public record QueueConfig(
    @Key(
            about = "Requests that may wait, half of them offline ones; more are answered 503",
            standard = "4096",
            min = "1",
            max = "1000000")
        int maxRequests,
    @Key(
            about =
                "Input bytes that may wait, half of them of offline requests; more are answered 503",
            standard = "512MiB",
            min = "1KiB",
            max = "1TiB")
        ByteSize maxBytes) {}
