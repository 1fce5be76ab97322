package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;

/** Requests that wait for their turn. */
public record QueueConfig(
    @Key(
            about =
                "Requests that may wait; offline requests may take half of that. The server"
                    + " answers more with 503",
            standard = "4096",
            min = "1",
            max = "1000000")
        int maxRequests,
    @Key(
            about =
                "Bytes of inputs that may wait; offline requests may take half of that. The"
                    + " server answers more with 503",
            standard = "512MiB",
            min = "1KiB",
            max = "1TiB")
        ByteSize maxBytes) {}
