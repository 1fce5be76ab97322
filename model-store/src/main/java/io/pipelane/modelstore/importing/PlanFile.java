package io.pipelane.modelstore.importing;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/** Plans as JSON files. */
public final class PlanFile {
  private static final long MAXIMUM_BYTES = 64 << 20;
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .addMixIn(Shape.class, ShapeAsArray.class)
          .addModule(new SimpleModule().addDeserializer(Shape.class, new ShapeReader()))
          .build();

  private PlanFile() {}

  /** The serializer that writes a shape as the array of its dimensions. */
  private interface ShapeAsArray {
    @JsonValue
    long[] toArray();
  }

  /** The deserializer that reads a shape from such an array. */
  private static final class ShapeReader extends StdDeserializer<Shape> {
    ShapeReader() {
      super(Shape.class);
    }

    @Override
    public Shape deserialize(JsonParser parser, DeserializationContext context) throws IOException {
      return Shape.of(context.readValue(parser, long[].class));
    }
  }

  public static void write(Plan plan, Path file) throws IOException {
    JSON.writeValue(file.toFile(), plan);
  }

  /**
   * Reads a plan.
   *
   * @throws IOException when the file is no plan, or one that contradicts itself
   */
  public static Plan read(Path file) throws IOException {
    if (Files.size(file) > MAXIMUM_BYTES) {
      throw new IOException(file + " has more than " + MAXIMUM_BYTES + " bytes");
    }
    return parse(Files.readAllBytes(file));
  }

  /** A plan as the bytes of its file. */
  public static byte[] toBytes(Plan plan) throws IOException {
    return JSON.writeValueAsBytes(plan);
  }

  /** Reads a plan from the bytes of its file; otherwise like {@link #read}. */
  public static Plan parse(byte[] json) throws IOException {
    Plan plan;
    try {
      plan = JSON.readValue(json, Plan.class);
    } catch (RuntimeException e) {
      throw new IOException("not a plan: " + e.getMessage(), e);
    }
    if (plan == null) {
      throw new IOException("not a plan: null");
    }
    check(plan);
    return plan;
  }

  private static void check(Plan plan) throws IOException {
    long end = 0;
    for (Plan.Segment segment : plan.segments()) {
      if (segment.offset() != end
          || segment.byteSize() < 0
          || segment.layers() < 0
          || segment.estimatedNanos() < 0) {
        throw new IOException("plan: segments do not follow each other");
      }
      end = segment.end();
    }
    if (plan.segments().isEmpty() || end != plan.weightBytes()) {
      throw new IOException("plan: segments do not cover the weights file");
    }
    for (Plan.StreamedWeight weight : plan.weights()) {
      checkPlace(plan, weight.name(), weight.segment(), weight.offset(), weight.byteSize());
    }
    long free = 0;
    for (InPlaceWeight weight : plan.inPlace()) {
      if (weight.offset() < free
          || weight.offset() % Plan.WEIGHT_ALIGNMENT != 0
          || weight.byteSize() < 0
          || weight.end() < weight.offset()) {
        throw new IOException("plan: weight " + weight.name() + " lies in no place of its own");
      }
      free = weight.end();
    }
    Set<Integer> allocations = new HashSet<>();
    for (RepackedWeight weight : plan.repacked()) {
      checkPlace(plan, weight.name(), weight.segment(), weight.offset(), weight.packedBytes());
      if (weight.byteSize() < 0 || !allocations.add(weight.allocation())) {
        throw new IOException("plan: repacked weight " + weight.name() + " cannot be");
      }
    }
  }

  private static void checkPlace(Plan plan, String name, int segment, long offset, long bytes)
      throws IOException {
    boolean inside = segment >= 0 && segment < plan.segments().size();
    if (!inside
        || offset % Plan.WEIGHT_ALIGNMENT != 0
        || bytes < 0
        || offset < plan.segments().get(segment).offset()
        || bytes > plan.segments().get(segment).end() - offset) {
      throw new IOException("plan: weight " + name + " lies outside its segment");
    }
  }
}
