package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator.DelegatingHandle;
import io.netty.channel.RecvByteBufAllocator.ExtendedHandle;
import io.netty.util.UncheckedBooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The choice of memory that a connection's bytes are read to. A body's bytes go to where they will
 * stay, others to buffers of the size that was of use lately. Belongs to the connection's event
 * loop. A channel asks for the choice once, before its first read: it must be set by then, when
 * nobody knows yet whose bodies will come.
 */
public final class ReadPlaces extends AdaptiveRecvByteBufAllocator {
  private Supplier<@Nullable ByteBuf> bodyPlace = () -> null;

  /**
   * Places for one connection.
   *
   * @param reads how many in a row its event loop makes at most; Netty's own choice holds for its
   *     own allocators alone
   */
  public ReadPlaces(int reads) {
    maxMessagesPerRead(reads);
  }

  /**
   * Reads bodies to where their owner wants them from the next read on.
   *
   * @param bodyPlace answers an empty buffer to read into, to be released by the reader; null where
   *     there is none
   */
  public void follow(Supplier<@Nullable ByteBuf> bodyPlace) {
    this.bodyPlace = bodyPlace;
  }

  @Override
  @SuppressWarnings("deprecation") // how Netty's own are declared
  public Handle newHandle() {
    return new PlacingHandle((ExtendedHandle) super.newHandle());
  }

  private final class PlacingHandle extends DelegatingHandle implements ExtendedHandle {
    private final ExtendedHandle sizes;

    PlacingHandle(ExtendedHandle sizes) {
      super(sizes);
      this.sizes = sizes;
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      ByteBuf place = bodyPlace.get();
      return place == null ? sizes.allocate(allocator) : place;
    }

    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMoreData) {
      return sizes.continueReading(maybeMoreData);
    }
  }
}
