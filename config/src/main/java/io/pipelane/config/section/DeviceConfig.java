package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import java.util.Optional;

/** The devices that models run on, and the memory they are given. */
public record DeviceConfig(
    @Key(
            about =
                "The device that models run on; auto takes a GPU if one can be used, else the CPU",
            standard = "cpu")
        DeviceSelection kind,
    @Key(
            about = "Device memory for weights, on each device",
            unset = "1GiB on the CPU, 60% of what is free on a GPU",
            min = "4KiB",
            max = "16TiB")
        Optional<ByteSize> memory,
    @Key(
            about =
                "Device memory for everything but weights, on each device: lanes, session"
                    + " constants and states",
            standard = "2GiB",
            min = "1MiB",
            max = "16TiB")
        ByteSize workingMemory,
    @Key(
            about =
                "How much of device.working-memory may hold tensors that one step of an ensemble"
                    + " makes and a later step reads; with 0 they wait in host memory",
            standard = "64MiB",
            min = "0B",
            max = "16TiB")
        ByteSize ensembleMemory,
    @Key(
            about = "Unit in which device memory is lent to weights",
            unset = "2MiB on the CPU, 16MiB on a GPU",
            min = "4KiB",
            max = "1GiB",
            powerOfTwo = true)
        Optional<ByteSize> pageSize,
    @Key(
            about =
                "Inferences at a time, on each device; 0 means one per processor core on the CPU,"
                    + " where several CPU devices share the cores, and 2 on a GPU",
            standard = "0",
            min = "0",
            max = "256")
        int lanes) {
  private static final ByteSize CPU_MEMORY = ByteSize.ofMebibytes(1 << 10);
  private static final ByteSize CPU_PAGE = ByteSize.ofMebibytes(2);
  private static final ByteSize GPU_PAGE = ByteSize.ofMebibytes(16);
  private static final double GPU_SHARE = 0.6;
  private static final int GPU_LANES = 2;

  /** What a CPU device is given, which has so many processors. */
  public DeviceBudget forCpu(int processors) {
    return budget(memory.orElse(CPU_MEMORY), pageSize.orElse(CPU_PAGE), processors);
  }

  /** What each of several CPU devices is given, which have so many processors together. */
  public DeviceBudget forCpu(int processors, int devices) {
    return forCpu(Math.ceilDiv(processors, devices));
  }

  /** What one GPU is given, which has so much memory free. */
  public DeviceBudget forGpu(long freeBytes) {
    ByteSize page = pageSize.orElse(GPU_PAGE);
    ByteSize share = new ByteSize((long) (GPU_SHARE * freeBytes));
    return budget(memory.orElse(share), page, GPU_LANES);
  }

  private DeviceBudget budget(ByteSize weights, ByteSize page, int standardLanes) {
    return new DeviceBudget(weights, workingMemory, page, lanes == 0 ? standardLanes : lanes);
  }
}
