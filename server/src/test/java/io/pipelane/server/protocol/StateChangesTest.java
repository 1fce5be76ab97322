package io.pipelane.server.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.net.Backends;
import io.pipelane.server.state.ServerState;
import io.pipelane.server.state.StateSource;
import io.pipelane.server.statistics.InferenceStatistics;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class StateChangesTest {
  private static final JsonMapper JSON = new JsonMapper();

  private final FakeCatalog catalog = FakeCatalog.usual();
  private final InferenceStatistics statistics = new InferenceStatistics();
  private final StateSource source = Backends.state(catalog, statistics);
  private final StateChanges changes = new StateChanges();

  /** As clients do it. */
  private final Map<String, JsonNode> heard = new LinkedHashMap<>();

  private static Entry entry(String name, State state) {
    return new Entry(name, "2", state, state == State.UNAVAILABLE ? "\"corrupt\"\n" : "");
  }

  private ServerState now() {
    return source.read(_ -> true);
  }

  private static JsonNode models(ByteBuf text) throws JsonProcessingException {
    return JSON.readTree(text.toString(StandardCharsets.UTF_8)).get("models");
  }

  private static Map<String, JsonNode> byName(JsonNode models) {
    Map<String, JsonNode> all = new LinkedHashMap<>();
    models.forEach(model -> all.put(model.get("name").asText(), model));
    return all;
  }

  /** Hears an event; answers which models it has told of. */
  private List<String> hear() throws JsonProcessingException {
    StateChanges.Event event = changes.next(now());
    ByteBuf text = Unpooled.buffer();
    event.write(text);
    Map<String, JsonNode> told = byName(models(text));
    if (event.isWhole()) {
      heard.clear();
      heard.putAll(told);
    } else {
      told.forEach((name, model) -> assertTrue(heard.replace(name, model) != null, name));
    }
    return List.copyOf(told.keySet());
  }

  private void assertAllHeard(String when) throws JsonProcessingException {
    ByteBuf text = Unpooled.buffer();
    StateAnswer.write(text, now());
    Map<String, JsonNode> all = byName(models(text));
    assertEquals(all, heard, when);
    assertEquals(List.copyOf(all.keySet()), List.copyOf(heard.keySet()), when);
  }

  @Test
  void modelsWithoutChange_areLeftOut_untilOthersAreListed() throws Exception {
    catalog.entries = List.of(entry("broken", State.UNAVAILABLE), entry("echo", State.READY));
    assertEquals(List.of("broken", "echo"), hear());
    assertEquals(List.of(), hear());
    assertFalse(changes.next(now()).isWhole());
    statistics.begin(new ModelVersion("echo", 2)).failed(Status.UNAVAILABLE);
    assertEquals(List.of("echo"), hear());
    assertEquals(List.of(), hear());
    catalog.entries = List.of(entry("echo", State.READY), entry("other", State.LOADING));
    assertEquals(List.of("echo", "other"), hear());
    catalog.entries = List.of();
    assertEquals(List.of(), hear());
    assertAllHeard("nothing is left");
  }

  @Test
  void randomChanges_areAllHeard() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    TreeMap<String, Entry> entries = new TreeMap<>();
    for (int step = 0; step < 2000; step++) {
      String name = "m" + random.nextInt(12);
      switch (random.nextInt(8)) {
        case 0 -> entries.put(name, entry(name, State.LOADING));
        case 1 -> entries.replace(name, entry(name, State.UNAVAILABLE));
        case 2 -> entries.replace(name, entry(name, State.READY));
        case 3 -> {
          if (random.nextInt(8) == 0) {
            entries.remove(name);
          }
        }
        case 4, 5 -> statistics.begin(new ModelVersion(name, 2)).failed(Status.UNAVAILABLE);
        default -> {
          catalog.entries = new ArrayList<>(entries.values());
          hear();
          assertAllHeard("seed " + seed + ", step " + step);
        }
      }
    }
  }
}
