-- JSON keeps the order of the graders. Computed when they are first asked for. A release that changes what graders give sets them to null.
ALTER TABLE "models" ADD COLUMN "scores" JSON;
