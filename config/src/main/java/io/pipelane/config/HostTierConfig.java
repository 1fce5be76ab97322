package io.pipelane.config;

/** Host memory behind the devices: for weights ready for transfer, and for states that wait. */
public record HostTierConfig(
    @Key(
            about = "Its size; weights beyond it are read from disk",
            standard = "2GiB",
            min = "0B",
            max = "16TiB")
        ByteSize memory,
    @Key(
            about =
                "Room for the states of sequences that device.working-memory has no room for between"
                    + " steps; with several devices as much again for what sequences go on from when"
                    + " one is lost",
            standard = "1GiB",
            min = "0B",
            max = "16TiB")
        ByteSize states) {}
