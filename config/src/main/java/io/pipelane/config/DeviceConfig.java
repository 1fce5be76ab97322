package io.pipelane.config;

/** What models run on, and the memory they are given. */
public record DeviceConfig(
    @Key(about = "The device", standard = "cpu") DeviceSelection kind,
    @Key(about = "Device memory for weights", standard = "1GiB", min = "4KiB", max = "16TiB")
        ByteSize memory,
    @Key(
            about = "Device memory for everything else: lanes and session constants",
            standard = "2GiB",
            min = "1MiB",
            max = "16TiB")
        ByteSize workingMemory,
    @Key(
            about = "The unit in which device memory is lent to weights",
            standard = "2MiB",
            min = "4KiB",
            max = "1GiB",
            powerOfTwo = true)
        ByteSize pageSize,
    @Key(
            about = "Inferences at a time; 0 is one per processor core",
            standard = "0",
            min = "0",
            max = "256")
        int lanes) {}
