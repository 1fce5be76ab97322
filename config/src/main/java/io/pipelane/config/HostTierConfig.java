package io.pipelane.config;

/** Host memory behind the devices: for weights ready for transfer, and for states that wait. */
public record HostTierConfig(
    @Key(
            about =
                "Host memory that keeps weights ready to be copied; on a GPU it is pinned."
                    + " Weights beyond it are read from disk",
            standard = "2GiB",
            min = "0B",
            max = "16TiB")
        ByteSize memory,
    @Key(
            about =
                "Host memory for states of sequences that find no room in device.working-memory"
                    + " between steps. With several devices as much again keeps what sequences"
                    + " continue from when a device is lost",
            standard = "1GiB",
            min = "0B",
            max = "16TiB")
        ByteSize states) {}
