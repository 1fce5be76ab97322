package io.pipelane.server.shared;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/**
 * The part of a region that a tensor lies in, as a request says.
 *
 * @param offset from where the region begins
 * @param byteSize of the tensor for an input, room for it for an output
 */
public record RegionPart(String region, long offset, long byteSize) {
  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what no region has
   */
  public RegionPart {
    if (offset < 0 || byteSize < 0 || byteSize > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "shared_memory_offset %d must be 0 or more, shared_memory_byte_size %d 0 to %d"
              .formatted(offset, byteSize, Integer.MAX_VALUE));
    }
  }
}
