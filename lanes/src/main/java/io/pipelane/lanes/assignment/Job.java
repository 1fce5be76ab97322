package io.pipelane.lanes.assignment;

/**
 * A request for a lane, with the memory it needs.
 *
 * @param id tells jobs apart; one table holds a job once
 * @param persistentBytes taken for as long as the job is there
 * @param ephemeralBytes taken while one of its iterations runs
 */
public record Job(String id, long persistentBytes, long ephemeralBytes) {
  public Job {
    if (persistentBytes < 0 || ephemeralBytes < 0) {
      throw new IllegalArgumentException(
          "job %s asks for negative memory: %d persistent, %d ephemeral bytes"
              .formatted(id, persistentBytes, ephemeralBytes));
    }
  }
}
