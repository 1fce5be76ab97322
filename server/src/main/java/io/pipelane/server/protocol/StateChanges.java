package io.pipelane.server.protocol;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.modelstore.Sha256;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.state.ServerState;
import io.pipelane.server.state.ServerState.Model;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/**
 * The state as it is told to one listener: whole at first and whenever other models are listed than
 * before, otherwise with those models alone whose JSON text differs from the one told last. Keeps
 * eight bytes a model, and a buffer as long as the longest text. For one event after another.
 */
public final class StateChanges {
  private final MessageDigest digest = Sha256.begin();
  private final ByteBuf text = Unpooled.buffer();
  private long toldNames;

  /** Of each model's text, in the order of the list; empty before the first event. */
  private long[] told = {};

  /**
   * What is told.
   *
   * @param models the JSON texts of those models that are told
   * @param isWhole whether these are all
   */
  public record Event(ServerState state, List<String> models, boolean isWhole) {
    public Event {
      models = List.copyOf(models);
    }

    /** Appends one JSON text, without line ends. */
    public void write(ByteBuf target) {
      StateAnswer.write(
          target,
          state,
          json -> {
            for (String model : models) {
              json.writeRawValue(model);
            }
          });
    }
  }

  /** What the listener is to hear next, and is taken to have heard. */
  public Event next(ServerState state) {
    List<Model> models = state.models();
    long names = names(models);
    boolean isWhole = told.length == 0 || told.length != models.size() || names != toldNames;
    long[] now = new long[models.size()];
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < now.length; i++) {
      Model model = models.get(i);
      text.clear();
      Json.write(text, json -> StateAnswer.writeModel(json, model)); // Once, as counts go on.
      digest.update(text.nioBuffer());
      now[i] = value();
      if (isWhole || now[i] != told[i]) {
        texts.add(text.toString(StandardCharsets.UTF_8));
      }
    }
    told = now;
    toldNames = names;
    return new Event(state, texts, isWhole);
  }

  /** Stands for which models are listed, and in what order. */
  private long names(List<Model> models) {
    for (Model model : models) {
      Entry entry = model.entry();
      digest.update(entry.name().getBytes(StandardCharsets.UTF_8));
      digest.update((byte) '/'); // No name has one.
      digest.update(entry.version().getBytes(StandardCharsets.UTF_8));
      digest.update((byte) '/');
    }
    return value();
  }

  /** So many bits of the digest that no two texts are ever taken for each other. */
  private long value() {
    return ByteBuffer.wrap(digest.digest()).getLong();
  }
}
