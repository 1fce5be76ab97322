package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;

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
        ByteSize states,
    @Key(
            about =
                "Whether weights that are on disk go on to the device while the rest is still being"
                    + " read. If false, all weights of a model are read into host memory before the"
                    + " first of them is copied",
            standard = "true")
        boolean pipeline,
    @Key(
            about =
                "Whether weights of the models that are asked for most are read from disk into free"
                    + " host memory while all devices are idle",
            standard = "true")
        boolean readAhead) {}
