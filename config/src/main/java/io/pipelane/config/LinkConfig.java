package io.pipelane.config;

/** The path from host memory to device memory. */
public record LinkConfig(
    @Key(
            about = "Limit of the copies from host to device memory, to imitate a slower link",
            standard = "unlimited")
        Bandwidth bandwidth) {}
