package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.TransferBuffers;
import org.jspecify.annotations.Nullable;

/**
 * A request's body as it arrives. One that comes in one piece is kept as it was received. Others
 * are put together in one buffer. A large one lies in a transfer buffer, with its binary data
 * aligned; where none can be had, in a direct buffer, which takes the announced length as far as
 * what has really come vouches for it. Belongs to the connection's event loop.
 */
public final class RequestBody {
  /** What libraries that copy memory like best. */
  private static final int ALIGNMENT = 64;

  private static final int LARGEST_FIRST_CAPACITY = 1 << 20;

  /** More is not read at once, for the sake of the event loop's other connections. */
  private static final int LARGEST_READ = 1 << 20;

  /**
   * How many bytes of an announced length are taken for each that has come. Each step up copies
   * what is there already, so that steps twice as large as the last cost more than the body itself.
   */
  private static final long TRUST = 8;

  /**
   * The same of transfer memory, which is for all: little enough that hardly anything is moved, and
   * more than a client sends that wants nothing but to hold it.
   */
  private static final long VOUCHED = 64;

  private final ByteBufAllocator allocator;
  private final TransferBuffers transfers;
  private final long announced;
  private final int binaryOffset;
  private @Nullable ByteBuf content;
  private boolean owned;
  private boolean settled;

  /**
   * A body of which nothing has come.
   *
   * @param announced the length that the request's head gives, -1 where it gives none
   * @param binaryOffset where its binary data begins, as the head says
   */
  public RequestBody(
      ByteBufAllocator allocator, TransferBuffers transfers, long announced, int binaryOffset) {
    this.allocator = allocator;
    this.transfers = transfers;
    this.announced = announced;
    this.binaryOffset = binaryOffset;
  }

  public int length() {
    return content == null ? 0 : content.readableBytes();
  }

  /**
   * Adds a piece, whose indices nobody else moves; the caller keeps its reference.
   *
   * @throws StatusException when there is no room for it; what was there stays
   */
  public void add(ByteBuf piece) {
    int bytes = piece.readableBytes();
    if (bytes == 0) {
      return;
    }
    if (!settled && announced > length() + bytes && announced <= VOUCHED * (length() + bytes)) {
      settled = true;
      beginTransfer();
    }
    if (content == null) {
      content = piece.retain();
    } else if (!owned || content.writableBytes() < bytes) {
      int needed = content.readableBytes() + bytes;
      content = moveTo(DirectMemory.take(nextCapacity(needed), allocator), content);
      owned = true;
      content.writeBytes(piece, piece.readerIndex(), bytes);
    } else if (isInPlace(content, piece)) {
      content.writerIndex(content.writerIndex() + bytes);
    } else {
      content.writeBytes(piece, piece.readerIndex(), bytes);
    }
  }

  /** Takes a transfer buffer for the whole body, if there is one, and moves there. */
  private void beginTransfer() {
    int lead = -binaryOffset & (ALIGNMENT - 1);
    ByteBuf found = transfers.find(lead + announced, allocator);
    if (found != null) {
      found.setIndex(lead, lead);
      content = content == null ? found : moveTo(found, content);
      owned = true;
    }
  }

  /** Whether a piece that has room was read to where {@link #readPlace} said. */
  private static boolean isInPlace(ByteBuf target, ByteBuf piece) {
    return target.hasMemoryAddress()
        && piece.hasMemoryAddress()
        && target.memoryAddress() + target.writerIndex()
            == piece.memoryAddress() + piece.readerIndex();
  }

  /**
   * Where the next bytes of the body are best read to: an empty buffer, to be released by the
   * reader, and to be added when it has been filled. Null where there is no such place.
   */
  public @Nullable ByteBuf readPlace() {
    if (content == null || !owned) {
      return null;
    }
    long rest = Math.min(announced - length(), content.writableBytes());
    int bytes = (int) Math.min(rest, LARGEST_READ);
    return bytes <= 0 ? null : content.retainedSlice(content.writerIndex(), bytes).clear();
  }

  private int nextCapacity(int needed) {
    long trusted = Math.max(LARGEST_FIRST_CAPACITY, TRUST * needed);
    long wanted = announced >= 0 ? Math.min(trusted, announced) : 2L * needed;
    return Math.clamp(wanted, needed, Integer.MAX_VALUE);
  }

  private static ByteBuf moveTo(ByteBuf target, ByteBuf source) {
    target.writeBytes(source, source.readerIndex(), source.readableBytes());
    source.release();
    return target;
  }

  /** What has come so far; still the body's. */
  public ByteBuf peek() {
    return content == null ? Unpooled.EMPTY_BUFFER : content;
  }

  /** Hands the whole body to the caller, who releases it. */
  public ByteBuf take() {
    ByteBuf taken = content == null ? Unpooled.EMPTY_BUFFER : content;
    content = null;
    return taken;
  }

  /** Gives up what has come so far; harmless after {@link #take}. */
  public void release() {
    take().release();
  }
}
