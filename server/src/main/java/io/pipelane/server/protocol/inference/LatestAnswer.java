package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.pipelane.runtime.Shape;
import java.util.List;

/**
 * The JSON of the last answer to a description, all of whose outputs follow as binary data: for
 * outputs of the same shapes and sizes it is the same again. Belongs to one thread.
 */
final class LatestAnswer {
  private List<Form> forms = List.of();
  private byte[] text = {};

  /** The form of an output that an answer's JSON tells beside its name and type. */
  private record Form(Shape shape, int bytes) {
    boolean fits(OutputTensor output) {
      return bytes == output.data().readableBytes() && shape.equals(output.shape());
    }
  }

  /** Appends the text if it is that of such outputs. */
  boolean write(List<OutputTensor> outputs, ByteBuf target) {
    if (text.length == 0) {
      return false;
    }
    for (int i = 0; i < forms.size(); i++) {
      if (!forms.get(i).fits(outputs.get(i))) {
        return false;
      }
    }
    target.writeBytes(text);
    return true;
  }

  /**
   * Keeps a text in place of the one before.
   *
   * @param start where it begins in {@code target}; it ends with the readable bytes
   */
  void keep(List<OutputTensor> outputs, ByteBuf target, int start) {
    forms = outputs.stream().map(o -> new Form(o.shape(), o.data().readableBytes())).toList();
    text = ByteBufUtil.getBytes(target, start, target.writerIndex() - start);
  }
}
