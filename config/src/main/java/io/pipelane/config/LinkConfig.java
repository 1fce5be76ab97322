package io.pipelane.config;

/** The path from host memory to device memory. */
public record LinkConfig(
    @Key(about = "Slows copies down, to imitate a slower link", standard = "unlimited")
        Bandwidth bandwidth) {}
