package io.pipelane.server.protocol;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufOutputStream;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * A stream into an answer's buffer, which grows by half of what it holds: of their own, large ones
 * grow by 4 MiB, and each time all that is there may be copied.
 *
 * <p>Its writer is stopped by a {@link StatusException} where nobody waits for the answer any more
 * ({@link Status#CANCELLED}), and where there is no room for it, see {@link DirectMemory#makeRoom}.
 */
public final class AnswerStream extends ByteBufOutputStream {
  private final BooleanSupplier unwanted;

  /**
   * One that appends.
   *
   * @param unwanted whether nobody waits for the answer any more
   */
  public AnswerStream(ByteBuf target, BooleanSupplier unwanted) {
    super(target);
    this.unwanted = unwanted;
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (unwanted.getAsBoolean()) {
      throw new StatusException(Status.CANCELLED, "nobody waits for the answer any more");
    }
    ByteBuf target = buffer();
    if (length > target.writableBytes()) {
      int most = target.maxCapacity() - target.writerIndex();
      DirectMemory.makeRoom(target, Math.max(length, Math.min(most, target.writerIndex() / 2)));
    }
    super.write(bytes, offset, length);
  }
}
