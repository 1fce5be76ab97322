package io.pipelane.config.section;

import io.pipelane.config.value.Bandwidth;

/** The path from host memory to device memory. */
public record LinkConfig(
    @Key(
            about = "Limit of the copies from host to device memory, to imitate a slower link",
            standard = "unlimited")
        Bandwidth bandwidth) {}
