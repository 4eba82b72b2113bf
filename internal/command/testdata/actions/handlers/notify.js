const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify("sent to " + (input.params.channel || "nobody")));
