package io.pipelane.config;

/** Host memory that keeps weights ready for transfer. */
public record HostTierConfig(
    @Key(
            about = "Its size; weights beyond it are read from disk",
            standard = "2GiB",
            min = "0B",
            max = "16TiB")
        ByteSize memory) {}
