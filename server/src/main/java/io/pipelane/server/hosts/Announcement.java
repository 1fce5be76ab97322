package io.pipelane.server.hosts;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * The announcement of a host: what it says of itself.
 *
 * @param address where it takes requests
 * @param instance tells one start of the host from another
 * @param leaving whether it takes no more requests
 * @param lanes runs that compute there at once
 * @param waitMicros how long a request that came now would wait for a lane
 * @param runMicros what a run there takes, its stall left out
 * @param models that it answers for
 * @param coming versions that it is importing; with the models {@link #MOST_MODELS} at most
 */
record Announcement(
    HostAddress address,
    String instance,
    boolean leaving,
    int lanes,
    long waitMicros,
    long runMicros,
    List<OfferedModel> models,
    List<ModelVersion> coming) {
  /*
   * {"url":"http://10.0.0.5:8000","instance":"5f2a","lanes":8,"wait_us":0,"run_us":1536,
   *  "models":[["bert",1,0,"#9f2c01d4ab37"],["lstm",3,24576,"state","own-timeout","#0b7e5530c1aa"]],
   *  "coming":[["bert",2]]}
   *
   * Times are coarse, so that a host whose load hardly changes has nothing new to say. Members that
   * are not known are left aside: hosts of another version may say more.
   */

  /** Some 250 KB as names usually are; etcd takes 1.5 MB. */
  static final int MOST_MODELS = 4096;

  private static final String CONTENT = "#";

  /** Says of a model that its owner, not a request, says how long an answer may take. */
  private static final String OWN_TIMEOUT = "own-timeout";

  /** As much as etcd takes: so many models whose names are as long as a folder's may be. */
  private static final int LONGEST_TEXT = 3 << 19;

  private static final long MOST_MICROS = 1L << 40;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(8)
                  .maxDocumentLength(LONGEST_TEXT)
                  .build())
          .build();

  Announcement {
    models = List.copyOf(models);
    coming = List.copyOf(coming);
  }

  /** One of a host that imports nothing. */
  Announcement(
      HostAddress address,
      String instance,
      boolean leaving,
      int lanes,
      long waitMicros,
      long runMicros,
      List<OfferedModel> models) {
    this(address, instance, leaving, lanes, waitMicros, runMicros, models, List.of());
  }

  /** The largest of 1, 2, 3, 4, 6, 8, 12 and so on that is not above a time; 0 for 0. */
  static long coarse(long micros) {
    long value = Math.clamp(micros, 0, MOST_MICROS);
    int dropped = Math.max(0, 62 - Long.numberOfLeadingZeros(value));
    return value >> dropped << dropped;
  }

  /** As text, which is the same for what is the same. */
  String write() {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      json.writeStringField("url", address.url());
      json.writeStringField("instance", instance);
      if (leaving) {
        json.writeBooleanField("leaving", true);
      }
      json.writeNumberField("lanes", lanes);
      json.writeNumberField("wait_us", waitMicros);
      json.writeNumberField("run_us", runMicros);
      json.writeArrayFieldStart("models");
      for (OfferedModel model : models) {
        json.writeStartArray();
        json.writeString(model.name());
        json.writeNumber(model.version());
        json.writeNumber(model.stallMicros());
        if (model.keepsState()) {
          json.writeString("state");
        }
        if (!model.heedsTimeouts()) {
          json.writeString(OWN_TIMEOUT);
        }
        if (!model.content().isEmpty()) {
          json.writeString(CONTENT + model.content());
        }
        json.writeEndArray();
      }
      json.writeEndArray();
      if (!coming.isEmpty()) {
        writeComing(json);
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private void writeComing(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("coming");
    for (ModelVersion version : coming) {
      json.writeStartArray();
      json.writeString(version.model());
      json.writeNumber(version.version());
      json.writeEndArray();
    }
    json.writeEndArray();
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for anything else
   */
  static Announcement read(String text) {
    try (JsonParser json = JSON.createParser(text)) {
      return new Reading().read(json);
    } catch (IOException | IllegalArgumentException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "this is no host's announcement: " + e.getMessage(), e);
    }
  }

  /** Members that have been read so far. */
  private static final class Reading {
    private String url = "";
    private String instance = "";
    private boolean leaving;
    private int lanes = 1;
    private long waitMicros;
    private long runMicros;
    private final List<OfferedModel> models = new ArrayList<>();
    private final List<ModelVersion> coming = new ArrayList<>();

    Announcement read(JsonParser json) throws IOException {
      expect(json.nextToken() == JsonToken.START_OBJECT, "it is no object");
      for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
        json.nextToken();
        switch (name) {
          case "url" -> url = json.getText();
          case "instance" -> instance = json.getText();
          case "leaving" -> leaving = json.getBooleanValue();
          case "lanes" -> lanes = Math.max(1, json.getIntValue());
          case "wait_us" -> waitMicros = micros(json);
          case "run_us" -> runMicros = micros(json);
          case "models" -> readModels(json);
          case "coming" -> readComing(json);
          default -> json.skipChildren();
        }
      }
      return new Announcement(
          HostAddress.of(URI.create(url)),
          instance,
          leaving,
          lanes,
          waitMicros,
          runMicros,
          models,
          coming);
    }

    private void readModels(JsonParser json) throws IOException {
      expect(json.currentToken() == JsonToken.START_ARRAY, "models is no array");
      while (json.nextToken() == JsonToken.START_ARRAY) {
        expect(models.size() < MOST_MODELS, "there are more than " + MOST_MODELS + " models");
        expect(json.nextToken() == JsonToken.VALUE_STRING, "a model has no name");
        String name = json.getText();
        json.nextToken();
        long version = json.getLongValue();
        json.nextToken();
        long stall = micros(json);
        boolean keepsState = false;
        boolean heedsTimeouts = true;
        String content = "";
        while (json.nextToken() != JsonToken.END_ARRAY) {
          expect(json.currentToken() != null, "it breaks off");
          String text = json.getText();
          keepsState |= text.equals("state");
          heedsTimeouts &= !text.equals(OWN_TIMEOUT);
          content = text.startsWith(CONTENT) ? text.substring(CONTENT.length()) : content;
        }
        models.add(new OfferedModel(name, version, keepsState, stall, content, heedsTimeouts));
      }
    }

    private void readComing(JsonParser json) throws IOException {
      expect(json.currentToken() == JsonToken.START_ARRAY, "coming is no array");
      while (json.nextToken() == JsonToken.START_ARRAY) {
        expect(coming.size() < MOST_MODELS, "more than " + MOST_MODELS + " models are coming");
        expect(json.nextToken() == JsonToken.VALUE_STRING, "a model that is coming has no name");
        String name = json.getText();
        json.nextToken();
        coming.add(new ModelVersion(name, json.getLongValue()));
        while (json.nextToken() != JsonToken.END_ARRAY) {
          expect(json.currentToken() != null, "it breaks off");
        }
      }
    }

    private static long micros(JsonParser json) throws IOException {
      return Math.clamp(json.getLongValue(), 0, MOST_MICROS);
    }

    private static void expect(boolean holds, String otherwise) {
      if (!holds) {
        throw new IllegalArgumentException(otherwise);
      }
    }
  }
}
