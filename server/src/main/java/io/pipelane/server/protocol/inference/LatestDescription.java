package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pipelane.server.catalog.ServedModel;
import org.jspecify.annotations.Nullable;

/**
 * The JSON that a client has sent with its last binary tensors, and what it said. With tensors of
 * the same shapes clients send the same text, which need not be read again. Belongs to one thread.
 */
public final class LatestDescription {
  private static final int LONGEST_TEXT = 4096;

  private ByteBuf text = Unpooled.EMPTY_BUFFER;
  private @Nullable InferDescription description;

  /** What a text says if it is the one kept, for the same model; else null. */
  @Nullable InferDescription find(ServedModel model, ByteBuf json) {
    return description != null
            && description.model().equals(model)
            && ByteBufUtil.equals(text, json)
        ? description
        : null;
  }

  /** Keeps a description, none of whose tensors lies in the text, in place of the one before. */
  void keep(InferDescription latest, ByteBuf json) {
    if (json.readableBytes() <= LONGEST_TEXT) {
      text = Unpooled.wrappedBuffer(ByteBufUtil.getBytes(json));
      description = latest;
    }
  }
}
