package io.pipelane.server.grpc;

import io.pipelane.protocol.grpc.SystemSharedMemoryRegisterRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusResponse;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusResponse.RegionStatus;
import io.pipelane.server.shared.RegionSpec;
import java.util.List;

/** Regions of shared memory, as messages. */
final class SharedMemoryMessages {
  private SharedMemoryMessages() {}

  /**
   * What is to be registered.
   *
   * @throws io.pipelane.config.StatusException when it cannot be
   */
  static RegionSpec region(SystemSharedMemoryRegisterRequest request) {
    return new RegionSpec(
        request.getName(), request.getKey(), request.getOffset(), request.getByteSize());
  }

  static SystemSharedMemoryStatusResponse status(List<RegionSpec> regions) {
    SystemSharedMemoryStatusResponse.Builder status = SystemSharedMemoryStatusResponse.newBuilder();
    for (RegionSpec region : regions) {
      status.putRegions(
          region.name(),
          RegionStatus.newBuilder()
              .setName(region.name())
              .setKey(region.key())
              .setOffset(region.offset())
              .setByteSize(region.byteSize())
              .build());
    }
    return status.build();
  }
}
